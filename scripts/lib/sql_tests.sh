# shellcheck shell=bash
# The SQL and isolation tests on a throw-away cluster. To be sourced after scratch.sh.

# shellcheck source-path=SCRIPTDIR
. "$project/scripts/lib/cluster.sh"

# run_sql_tests NAME: `make installcheck` in a copy of the project, less the TAP tests. Leaves the
# cluster running.
run_sql_tests() {
	local name=$1 suite log status=0 passed=0 failed=0
	compgen -G "$project/test/sql/*.sql" >/dev/null || die "there is no SQL test"
	compgen -G "$project/test/specs/*.spec" >/dev/null || die "there is no isolation test"
	copy_project
	# Other than by default: two-phase commit and logical decoding are on.
	start_cluster max_prepared_transactions=20 wal_level=logical

	# One suite at a time, so that the second runs when the first has failed.
	for suite in REGRESS ISOLATION; do
		log=$scratch/$suite.log
		as_server_user make -s --no-print-directory -C "$copy" installcheck PG_CONFIG="$PG_CONFIG" \
			TAP_TESTS= "$([ $suite = REGRESS ] && echo ISOLATION || echo REGRESS)=" 2>&1 |
			tee "$log" || status=1
		# A runner that failed may have printed what the golden has.
		! grep -q 'test process exited' "$log" || status=1
		if [ "$status" -ne 0 ]; then
			[ ! -s "$copy/regression.diffs" ] || head -n 200 "$copy/regression.diffs"
			keep_output "$name-$suite" "$copy/results" "$copy/regression.diffs" "$log" "$server_log"
		fi
		passed=$((passed + $(grep -cE '^test .*\.\.\. ok +[0-9]+ ms' "$log" || true)))
		failed=$((failed + $(grep -cE '^test .*(FAILED|test process exited)' "$log" || true)))
	done
	closing_line "$passed" "$failed" && [ "$status" -eq 0 ]
}
