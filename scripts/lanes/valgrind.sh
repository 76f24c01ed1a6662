# shellcheck shell=bash
# Lane: a smoke run of the server under valgrind. An error with a frame of the module in it fails.
#
# A single-user server runs the statements of test/valgrind/smoke.sql, one a line. A line that is
# meant to raise an error stands below a line "-- error".

# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/../lib/common.sh"
. "$project/scripts/lib/packages.sh"
. "$project/scripts/lib/module.sh"
. "$project/scripts/lib/scratch.sh"
. "$project/scripts/lib/cluster.sh"

smoke=$project/test/valgrind/smoke.sql
[ -s "$smoke" ] || die "there is no statement to run under valgrind"
need_module valgrind python3
make_scratch
# shellcheck disable=SC2119 # default settings
start_cluster
"$bindir/createdb" smoke
"$bindir/psql" -Xqc 'CREATE EXTENSION pg_idem' smoke
stop_cluster

copy_project
report=$scratch/valgrind.xml
output=$scratch/smoke.log
say "running $(basename "$smoke") under valgrind"
status=0
as_server_user valgrind --quiet --xml=yes --xml-file="$report" --error-limit=no --num-callers=40 \
	--suppressions="$copy/test/valgrind/server.supp" \
	"$bindir/postgres" --single -D "$scratch/data" smoke <"$smoke" >"$output" 2>&1 || status=$?

passed=0 failed=0
# check NAME COMMAND...
check() {
	local name=$1
	shift
	if "$@"; then
		echo "ok      $name"
		passed=$((passed + 1))
	else
		echo "FAILED  $name"
		failed=$((failed + 1))
	fi
}

raises_what_it_should() {
	local expected raised
	expected=$(grep -c '^-- error' "$smoke" || true)
	raised=$(grep -cE '(ERROR|FATAL|PANIC): ' "$output" || true)
	[ "$raised" -eq "$expected" ] && return
	echo "$expected errors were meant, $raised were raised:"
	grep -E '(ERROR|FATAL|PANIC): ' "$output"
	return 1
}

check "the server ended well" test "$status" -eq 0
check "every statement ran, and raised an error only where it should" raises_what_it_should
check "no error of memory in a frame of the module" \
	/usr/bin/python3 "$project/scripts/lib/valgrind_report.py" "$report" pg_idem.so
[ "$failed" -eq 0 ] || keep_output valgrind "$report" "$output"
closing_line "$passed" "$failed"
