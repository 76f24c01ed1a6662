# shellcheck shell=bash
# What every script needs: strict mode, where things lie, and how to say something. To be sourced.

set -euo pipefail
umask 022

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck disable=SC2034 # for the scripts that source this
build=$project/build
pg_major=15
export PG_CONFIG=${PG_CONFIG:-/usr/lib/postgresql/$pg_major/bin/pg_config}
# Clusters take the encoding of their databases from here. PostgreSQL's test library unsets LC_ALL.
unset "${!LC_@}" LANGUAGE
export LANG=C.UTF-8 LC_ALL=C.UTF-8

# The caller's connection settings would lead the clients to the caller's own server.
for name in "${!PG@}"; do
	case $name in
		PG_*) ;;
		*) unset "$name" ;;
	esac
done

heading() {
	printf '\n== %s\n' "$*"
}

say() {
	printf -- '-- %s\n' "$*"
}

die() {
	printf 'error: %s\n' "$*" >&2
	exit 1
}

is_root() {
	[ "$(id -u)" -eq 0 ]
}

as_root() {
	if is_root; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "this needs root: $*"
	fi
}

# The line that a reader, and a machine that reads the log, looks for.
closing_line() {
	printf '%d passed, %d failed\n' "$1" "$2"
	[ "$1" -gt 0 ] && [ "$2" -eq 0 ]
}
