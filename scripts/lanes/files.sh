# shellcheck shell=bash disable=SC2317 # the checks are called by name
# Lane: layout, linters, and that the build files agree with each other.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/../lib/common.sh"
. "$project/scripts/lib/packages.sh"

need_packages "${module_packages[@]}" clang-format-14 shellcheck cmake pkg-config libgtest-dev \
	libbenchmark-dev python3
cd "$project"

layout_of_cpp_files() {
	local files faults
	mapfile -t files < <(find src test bench -type f \( -name '*.cpp' -o -name '*.hpp' \) | sort)
	[ ${#files[@]} -gt 0 ] || die "no C++ file found"
	faults=$(clang-format-14 --dry-run -Werror "${files[@]}" 2>&1) && return
	echo "lines to be laid out otherwise, by file (clang-format-14 -i FILE does it):"
	sed -nE 's/:[0-9]+:[0-9]+: error: .*//p; /^(Error|Invalid|YAML)/p' <<<"$faults" | sort | uniq -c
	return 1
}

shell_scripts_are_clean() {
	# What scripts/lib holds is read where it is sourced.
	shellcheck -x -a scripts/demo scripts/test scripts/lanes/*.sh bench/run .ci/run
}

# Prints the lines of a list that should be empty.
expect_none() {
	if [ -n "$2" ]; then
		printf '%s:\n%s\n' "$1" "$2"
		return 1
	fi
}

# src/core sees the standard library, OpenSSL, ICU, xxHash and itself.
core_includes_no_server_header() {
	expect_none "includes that src/core may not have" "$(grep -rnE '^\s*#\s*include' src/core |
		grep -vE '#\s*include\s+(<[a-z_]+>|<openssl/[a-z_]+\.h>|<unicode/[a-z0-9_]+\.h>|<xxhash\.h>|"core/[a-z_/]+\.hpp")\s*(//.*)?$')"
}

# The standard library's containers throw and own: PostgreSQL's errors jump over both.
core_owns_nothing() {
	expect_none "headers that src/core may not have" "$(grep -rnE \
		'#\s*include\s+<(string|vector|map|set|unordered_map|memory|functional|iostream|sstream|fstream|stdexcept|exception)>' \
		src/core)"
}

source_files_are_short() {
	expect_none "over 400 lines" "$(find src -type f -exec wc -l {} + |
		awk '$2 != "total" && $1 > 400')"
}

make_and_cmake_see_the_same_sources() {
	cmake -S . -B build/files >/dev/null
	diff -u --label Makefile --label CMakeLists.txt \
		<(make -s list-sources | sort) \
		<(/usr/bin/python3 -c '
import json, os, sys
root = os.getcwd() + "/"
files = {os.path.normpath(e["file"]) for e in json.load(open("build/files/compile_commands.json"))}
print(*sorted(f[len(root):] for f in files if f.startswith(root + "src/")), sep="\n")')
}

versions_agree() {
	local control meta provided file
	control=$(sed -n "s/^default_version = '\(.*\)'$/\1/p" pg_idem.control)
	read -r meta provided file < <(/usr/bin/python3 -c '
import json
meta = json.load(open("META.json"))
module = meta["provides"]["pg_idem"]
print(meta["version"], module["version"], module["file"])')
	echo "control $control, META.json $meta and $provided, $file"
	[ -n "$control" ] && [ "$control" = "$meta" ] && [ "$control" = "$provided" ] &&
		[ "$file" = "sql/pg_idem--$control.sql" ] && [ -f "$file" ]
}

# Every function that the install script takes from the module, and no other, by its link name.
sql_and_cpp_name_the_same_functions() {
	diff -u --label 'install script' --label 'PG_FUNCTION_INFO_V1' \
		<(grep -ohE "'MODULE_PATHNAME', *'[a-z_0-9]+'" sql/pg_idem--*.sql |
			sed -E "s/.*, *'(.*)'/\1/" | sort -u) \
		<(grep -rhoE 'PG_FUNCTION_INFO_V1\([a-z_0-9]+\)' src/pg | sed -E 's/.*\((.*)\)/\1/' | sort -u)
}

# A script without a golden, or a golden without a script, is a test that does not run.
every_golden_has_its_test() {
	diff -u --label tests --label expected \
		<(find test/sql test/specs -type f \( -name '*.sql' -o -name '*.spec' \) -printf '%f\n' |
			sed 's/\.[a-z]*$//' | sort) \
		<(find expected -type f -name '*.out' -printf '%f\n' | sed -E 's/(_[0-9])?\.out$//' | sort -u)
}

# Who reads nothing else finds each of them there.
readme_names_every_function_and_view() {
	local name unnamed=0
	while read -r name; do
		grep -qw "$name" "$project/README.md" || { echo "README.md does not name $name" && unnamed=1; }
	done < <(sed -nE 's/^CREATE (FUNCTION|VIEW) (idem_[a-z_]+).*/\2/p' "$project"/sql/pg_idem--*.sql | sort -u)
	return $unnamed
}

checks=(
	layout_of_cpp_files
	shell_scripts_are_clean
	core_includes_no_server_header
	core_owns_nothing
	source_files_are_short
	make_and_cmake_see_the_same_sources
	versions_agree
	sql_and_cpp_name_the_same_functions
	every_golden_has_its_test
	readme_names_every_function_and_view
)
passed=0 failed=0
for check in "${checks[@]}"; do
	if output=$(set -e; "$check" 2>&1); then
		echo "ok      ${check//_/ }"
		passed=$((passed + 1))
	else
		echo "FAILED  ${check//_/ }"
		sed -n '1,60s/^/        /p' <<<"$output"
		failed=$((failed + 1))
	fi
done
closing_line "$passed" "$failed"
