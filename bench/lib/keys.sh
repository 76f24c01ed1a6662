# shellcheck shell=bash
# Time of digests and keys on stored documents, beside what people use instead. To be sourced after
# prepare.sh and canonicalize.sh.

# PL/pgSQL recurses, and some vectors are nested a thousand levels deep.
key_options='-c max_stack_depth=7MB -c max_parallel_workers_per_gather=0'
key_options+=' -c client_min_messages=error'
documents_a_slice=10000

measure_keys() {
	local round data
	need_canonicalize
	prepare_keys
	say "$key_rounds rounds of $slices slices"
	for ((round = 0; round < key_rounds; ++round)); do
		PGOPTIONS=$key_options sql -d bench -F $'\t' -c "SELECT * FROM bench.round($round)" \
			>>"$results"
		for data in vectors mixed; do
			result "$data" npm "$(node "$scratch/canonicalize.mjs" "$scratch/$data.jsonl")"
		done
	done
}

prepare_keys() {
	local data documents=$((slices * documents_a_slice))
	say "preparing $documents documents"
	createdb bench
	sql -d bench -c 'CREATE EXTENSION pg_idem; CREATE SCHEMA bench;'
	load_vectors
	PGOPTIONS=$key_options sql -d bench -o /dev/null -v documents="$documents" \
		-v requests="$documents" -v slices="$slices" -v sample="$sample" \
		-f "$project/bench/sql/processor.sql" -f "$project/bench/sql/documents.sql" \
		-f "$project/bench/sql/by_hand.sql" -f "$project/bench/sql/keys.sql"
	for data in vectors mixed; do
		sql -d bench -c "SELECT j FROM bench.${data}_sample ORDER BY n" >"$scratch/$data.jsonl"
		describe_documents "$data"
	done
	# Node looks for packages beside the script.
	cp "$project/bench/node/canonicalize.mjs" "$scratch/"
	ln -s "$canonicalize_modules" "$scratch/node_modules"
}

# The documents of test/vectors, and the inputs of the sample pairs. The edge cases beside them are
# left out: most are a few bytes, and some are numbers that Node cannot hold.
load_vectors() {
	local folder=$project/test/vectors file
	sql -d bench -c 'CREATE TABLE bench.line (n serial, document text NOT NULL)'
	# CSV whose quote and delimiter occur nowhere: each line is one field.
	sql -d bench -c "COPY bench.line (document) FROM STDIN
		(FORMAT csv, QUOTE E'\\x01', DELIMITER E'\\x02')" <"$folder/docs_in.jsonl"
	for file in "$folder"/cyberphone/input/*.json; do
		sql -d bench -v document="$(<"$file")" \
			<<<"INSERT INTO bench.line (document) VALUES (:'document')"
	done
}

describe_documents() {
	local count bytes
	IFS='|' read -r count bytes < <(sql -d bench \
		-c "SELECT count(*), avg(octet_length(j::text)) FROM bench.$1")
	result documents "$1" "$count"
	result bytes "$1" "$bytes"
}

describe_node() {
	printf -- '- Node %s, canonicalize %s\n' "$(node --version)" "$canonicalize_version"
}
