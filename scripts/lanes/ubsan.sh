# shellcheck shell=bash
# Lane: the SQL tests again, with a module that aborts the server at the first undefined behaviour.
#
# It is installed into a copy of the server's files, so that it can never be what a real server loads.
# PostgreSQL finds its folders relative to its executable, which makes such a copy a server of its own.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/../lib/common.sh"
. "$project/scripts/lib/packages.sh"
. "$project/scripts/lib/module.sh"
. "$project/scripts/lib/scratch.sh"
. "$project/scripts/lib/sql_tests.sh"

need_packages "${server_packages[@]}" "${test_packages[@]}"
say "building with UBSan"
build_module "$build/ubsan" -s SANITIZE=undefined with_llvm=no

make_scratch
tree=$scratch/server
for folder in "$("$PG_CONFIG" --bindir)" "$("$PG_CONFIG" --pkglibdir)" "$("$PG_CONFIG" --sharedir)"; do
	mkdir -p "$tree$folder"
	cp -r "$folder/." "$tree$folder"
done
make --no-print-directory -s -C "$build/ubsan" -f "$project/Makefile" install \
	with_llvm=no SANITIZE=undefined DESTDIR="$tree"
give_to_server_user "$tree"
PG_CONFIG=$tree$("$PG_CONFIG" --bindir)/pg_config

status=0
run_sql_tests ubsan || status=1
if grep -n 'runtime error:' "$server_log"; then
	status=1
fi
exit "$status"
