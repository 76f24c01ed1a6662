# shellcheck shell=bash
# A scratch folder that the server's user owns, gone at the end. To be sourced after common.sh.
#
# PostgreSQL refuses to run as root, and its user may have no way into the checkout or no right to
# write there. So the server and the test runners work in a folder of their own, on a copy of what
# they read. The path is short, because the path of a socket in it may have 107 bytes at most.
#
# PG_IDEM_KEEP=1 keeps the folder.

if is_root; then
	server_user=postgres
else
	server_user=$(id -un)
fi

scratch=
stop_hooks=()

make_scratch() {
	scratch=$(mktemp -d /var/tmp/pg_idem.XXXXXX)
	trap clean_scratch EXIT
	# Without these, a shell that a signal ends runs no EXIT trap.
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	mkdir "$scratch/tmp"
	chmod 755 "$scratch"
	give_to_server_user "$scratch"
}

clean_scratch() {
	local status=$? hook
	trap - EXIT
	for hook in "${stop_hooks[@]}"; do
		"$hook" || true
	done
	if [ -n "${PG_IDEM_KEEP:-}" ]; then
		say "kept $scratch"
	else
		rm -rf "$scratch"
	fi
	exit "$status"
}

give_to_server_user() {
	if is_root; then
		chown -R "$server_user:" "$@"
	fi
}

# Runs a command as the server's user, in the scratch folder.
as_server_user() {
	local as=(env HOME="$scratch" TMPDIR="$scratch/tmp")
	if is_root; then
		as=(runuser -u "$server_user" -- "${as[@]}")
	fi
	(cd "$scratch" && "${as[@]}" "$@")
}

# Copies what the test runners read, and names the copy in $copy.
copy_project() {
	copy=$scratch/project
	mkdir "$copy"
	local item
	for item in Makefile pg_idem.control exports.txt sql expected test examples docs; do
		if [ -e "$project/$item" ]; then
			cp -r "$project/$item" "$copy/"
		fi
	done
	give_to_server_user "$copy"
}

# keep_output NAME PATH...: saves what explains a failure into the build folder.
keep_output() {
	local folder=$build/output/$1 path
	shift
	rm -rf "$folder"
	mkdir -p "$folder"
	for path; do
		if [ -e "$path" ]; then
			cp -r "$path" "$folder/"
		fi
	done
	say "output kept in ${folder#"$project/"}"
}
