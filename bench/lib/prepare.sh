# shellcheck shell=bash
# The databases that the contenders start from, and what the figures depend on. To be sourced after
# cluster.sh.

# No flush, no full page images, no autovacuum: what is left is what a contender itself does. With
# the usual wal_writer_flush_after, most asynchronous commits would send a signal to the WAL writer.
# shellcheck disable=SC2034 # for bench/run
bench_settings=(shared_buffers=512MB max_wal_size=16GB checkpoint_timeout=1h autovacuum=off
	full_page_writes=off synchronous_commit=off wal_writer_flush_after=0 jit=off)

intents=40000

sql() {
	"$bindir/psql" -X -q -A -t -v ON_ERROR_STOP=1 "$@"
}

# bench_fresh holds the contenders; bench has the starting data as well.
prepare() {
	say "preparing $intents keys in every table"
	createdb bench_fresh
	sql -d bench_fresh -o /dev/null -f "$project/bench/sql/schema.sql" \
		-f "$project/bench/sql/processor.sql" -f "$project/bench/sql/contenders.sql" \
		-f "$project/bench/sql/load.sql" 2>/dev/null
	createdb -T bench_fresh bench
	sql -d bench -o /dev/null -v intents="$intents" -f "$project/bench/sql/start.sql"
}

createdb() {
	"$bindir/createdb" "$@"
}

dropdb() {
	"$bindir/dropdb" "$@"
}

# result METRIC CONTENDER VALUE: one line for bench/report.py.
result() {
	printf '%s\t%s\t%s\n' "$@" >>"$results"
}

describe_machine() {
	local model memory revision changed=
	model=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
	memory=$(awk '/^MemTotal/ { printf "%.0f", $2 / 1048576 }' /proc/meminfo)
	revision=$(git -C "$project" rev-parse --short HEAD 2>/dev/null || echo unknown)
	[ -z "$(git -C "$project" status --porcelain -- src sql bench 2>/dev/null)" ] ||
		changed=" with changes"
	printf -- '- %s, %s processors, %s GB, %s\n' "${model:-$(uname -m)}" "$(nproc)" "$memory" \
		"$(uname -sr)"
	printf -- '- %s, pg_idem at %s%s\n' "$("$bindir/postgres" --version)" "$revision" "$changed"
	printf -- '- fsync=off %s\n\n' "${bench_settings[*]}"
}
