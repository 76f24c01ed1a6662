# shellcheck shell=bash
# Time, WAL and space on a running cluster. To be sourced after prepare.sh.

loop_contenders=(empty digest key_arguments key_fields insert insert_bound claim record once
	claim_bound record_bound claim_select pair pair_functions replay select select_digest)
wire_contenders=(insert claim record once pair pair_functions replay select_digest)
clients=(1 4)
keys_a_round=1000
warm_up=100

measure_time_and_space() {
	local contender
	prepare
	# A database each: what one contender leaves behind is not in another's way.
	for contender in "${loop_contenders[@]}"; do
		createdb -T bench "bench_$contender"
	done
	measure_loops
	measure_wire
	for contender in "${loop_contenders[@]}"; do
		dropdb "bench_$contender"
	done
	measure_space
}

# Microseconds and WAL bytes of a key in PL/pgSQL, the loop included.
measure_loops() {
	local round contender low middle high micros wal
	say "PL/pgSQL: $rounds rounds of $keys_a_round keys"
	for ((round = 0; round < rounds; ++round)); do
		low=$((round * (keys_a_round + warm_up) + 1))
		middle=$((low + warm_up))
		high=$((middle + keys_a_round - 1))
		[ "$high" -le "$intents" ] || die "too few intents for $rounds rounds"
		for contender in "${loop_contenders[@]}"; do
			# The first call fills the session's caches.
			IFS='|' read -r micros wal < <(sql -d "bench_$contender" \
				-c "CALL bench.$contender($low, $((middle - 1)))" \
				-c "CALL bench.$contender($middle, $high)" | tail -n 1)
			result micros "$contender" "$(awk "BEGIN { print $micros / $keys_a_round }")"
			result wal "$contender" "$(awk "BEGIN { print $wal / $keys_a_round }")"
		done
	done
}

# Transactions a second, each with an effect, as prepared statements over a socket.
measure_wire() {
	local round count contender tps log=$scratch/pgbench.log
	say "pgbench: $wire_rounds rounds of $seconds seconds"
	for ((round = 0; round < wire_rounds; ++round)); do
		for count in "${clients[@]}"; do
			for contender in "${wire_contenders[@]}"; do
				"$bindir/pgbench" -n -M prepared -c "$count" -j "$count" -T "$seconds" \
					-D intents="$intents" -f "$project/bench/wire/$contender.sql" \
					"bench_$contender" >"$log" 2>&1 ||
					die "pgbench failed: $(tail -n 5 "$log")"
				tps=$(sed -n 's/^tps = \([0-9.]*\).*/\1/p' "$log")
				result "tps_$count" "$contender" "$tps"
			done
		done
	done
}

# Bytes that finished keys occupy, loaded in random order: digests have no other.
measure_space() {
	say "space: $stored_keys keys in each table"
	occupied insert bench.plain "CALL bench.load_plain($stored_keys)"
	occupied claim idem.key "CALL bench.load_ledger('payment', $stored_keys)"
	occupied claim_bound idem.key "CALL bench.load_ledger('refund', $stored_keys)"
	occupied pair bench.pair "CALL bench.load_pair($stored_keys)"
}

# occupied CONTENDER TABLE CALL
occupied() {
	local contender=$1 table=$2 call=$3 heap indexes
	createdb -T bench_fresh bench_space
	sql -d bench_space -c "$call"
	IFS='|' read -r heap indexes < <(sql -d bench_space \
		-c "SELECT pg_table_size('$table'), pg_indexes_size('$table')")
	result heap "$contender" "$(awk "BEGIN { print $heap / $stored_keys }")"
	result indexes "$contender" "$(awk "BEGIN { print $indexes / $stored_keys }")"
	dropdb bench_space
}
