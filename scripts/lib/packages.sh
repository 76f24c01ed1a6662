# shellcheck shell=bash
# Installs the Debian packages that are missing, and nothing else. To be sourced after common.sh.

# shellcheck disable=SC2034 # the lists are for the scripts that source this
{
	module_packages=("postgresql-server-dev-$pg_major" g++ make libssl-dev libicu-dev libxxhash-dev
		pkg-config)
	server_packages=("${module_packages[@]}" "postgresql-$pg_major")
	test_packages=("postgresql-$pg_major-pgtap" libtap-parser-sourcehandler-pgtap-perl
		libipc-run-perl)
	webhook_packages=(python3 python3-psycopg ca-certificates)
}

is_installed() {
	[ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# need_packages PACKAGE...
need_packages() {
	command -v dpkg-query >/dev/null || die "this script sets up Debian 12; elsewhere install: $*"
	local package missing=()
	for package; do
		is_installed "$package" || missing+=("$package")
	done
	[ ${#missing[@]} -eq 0 ] && return
	say "installing ${missing[*]}"
	as_root apt-get update -qq
	without_new_cluster as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 "${missing[@]}" >/dev/null
}

# A server package that is installed for the first time creates a cluster and starts it, on a port
# that may be in use. None is wanted here, so Debian's setting for that is off meanwhile.
without_new_cluster() {
	local folder=/etc/postgresql-common/createcluster.d
	local file=$folder/pg_idem-none.conf status=0
	if is_installed "postgresql-$pg_major"; then
		"$@"
		return
	fi
	as_root mkdir -p "$folder"
	as_root sh -c "echo 'create_main_cluster = false' > $file"
	"$@" || status=$?
	as_root rm -f "$file"
	as_root rmdir --ignore-fail-on-non-empty "$folder"
	return "$status"
}

# The pooler's package starts a service, on a port that may be in use. The tests start their own, so
# the machine's policy for services says no meanwhile. Nothing else is installed along, which the
# policy would keep from being started again.
need_pooler() {
	local policy=/usr/sbin/policy-rc.d status=0
	is_installed pgbouncer && return
	if [ -e "$policy" ]; then
		need_packages pgbouncer
		return
	fi
	need_packages libc-ares2 libevent-2.1-7
	as_root sh -c "printf '#!/bin/sh\\nexit 101\\n' > $policy && chmod 755 $policy"
	need_packages pgbouncer || status=$?
	as_root rm -f "$policy"
	return "$status"
}

# npm comes with Node.js's own packages as well as with Debian's: what counts is the command.
need_npm() {
	command -v npm >/dev/null || need_packages npm
}
