# shellcheck shell=bash
# Instructions, counted by callgrind on a single-user server. To be sourced after prepare.sh.
#
# Each contender runs twice, with few keys and with many, on copies of one data folder. What the
# second run has more, divided by the keys it has more, is the price of a key: starting the server
# and filling its caches is in both.

counted_contenders=(empty digest key_arguments key_fields insert insert_bound claim record once
	claim_bound record_bound claim_select pair pair_functions replay select select_digest)

measure_callgrind() {
	local contender
	prepare
	stop_cluster
	say "callgrind: ${#counted_contenders[@]} contenders with $few_keys and with $many_keys keys"
	for contender in "${counted_contenders[@]}"; do
		count_instructions "$contender" "$few_keys" &
		count_instructions "$contender" "$many_keys"
		wait "$!"
		result few "$contender" "$few_keys"
		result many "$contender" "$many_keys"
	done
}

# count_instructions CONTENDER KEYS: leaves $scratch/callgrind.CONTENDER.KEYS
count_instructions() {
	local name=$1.$2 log
	log=$scratch/server.$name.log
	as_server_user cp -a "$scratch/data" "$scratch/data.$name"
	as_server_user valgrind -q --tool=callgrind --callgrind-out-file="$scratch/callgrind.$name" \
		"$bindir/postgres" --single -D "$scratch/data.$name" bench \
		>"$log" 2>&1 <<<"CALL bench.$1(1, $2)" || die "the server failed: $(tail -n 5 "$log")"
	! grep -E '(ERROR|FATAL|PANIC): ' "$log" || die "$1 failed"
	as_server_user rm -rf "$scratch/data.$name"
}
