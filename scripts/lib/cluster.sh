# shellcheck shell=bash
# A throw-away cluster in the scratch folder, reached by a socket only. To be sourced after scratch.sh.

server_log=

# start_cluster [SETTING=VALUE...]: sets PGHOST, PGUSER and PGDATABASE, and $bindir.
# shellcheck disable=SC2120
start_cluster() {
	bindir=$("$PG_CONFIG" --bindir)
	server_log=$scratch/server.log
	as_server_user "$bindir/initdb" -D "$scratch/data" -U postgres -A trust -E UTF8 \
		--locale=C.UTF-8 --no-sync >"$scratch/initdb.log" 2>&1 || {
		cat "$scratch/initdb.log" >&2
		die "initdb failed"
	}
	local setting
	# The socket alone: no port of this machine is taken. No fsync: the machine does not crash here.
	{
		echo "listen_addresses = ''"
		echo "unix_socket_directories = '$scratch'"
		echo "fsync = off"
		for setting; do
			echo "${setting%%=*} = '${setting#*=}'"
		done
	} | as_server_user tee -a "$scratch/data/postgresql.conf" >/dev/null
	stop_hooks+=(stop_cluster)
	as_server_user "$bindir/pg_ctl" -D "$scratch/data" -l "$server_log" -w -s start || {
		cat "$server_log" >&2
		die "the server did not start"
	}
	export PGHOST=$scratch PGUSER=postgres PGDATABASE=postgres
}

stop_cluster() {
	if [ -e "$scratch/data/postmaster.pid" ]; then
		as_server_user "$bindir/pg_ctl" -D "$scratch/data" -m fast -w -s stop ||
			as_server_user "$bindir/pg_ctl" -D "$scratch/data" -m immediate -w -s stop
	fi
}
