# shellcheck shell=bash
# Lane: SQL tests, isolation tests and pgTAP scripts on a throw-away cluster.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/../lib/common.sh"
. "$project/scripts/lib/packages.sh"
. "$project/scripts/lib/module.sh"
. "$project/scripts/lib/scratch.sh"
. "$project/scripts/lib/sql_tests.sh"

need_module "${test_packages[@]}"
make_scratch

status=0
run_sql_tests sql || status=1

if compgen -G "$project/test/pgtap/*.sql" >/dev/null; then
	say "pgTAP scripts"
	as_server_user "$bindir/createdb" pgtap
	as_server_user "$bindir/psql" -Xqc 'CREATE EXTENSION pgtap; CREATE EXTENSION pg_idem' pgtap
	if ! as_server_user pg_prove --dbname pgtap --ext .sql "$copy/test/pgtap"; then
		keep_output pgtap "$server_log"
		status=1
	fi
fi
exit "$status"
