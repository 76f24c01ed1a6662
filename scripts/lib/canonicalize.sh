# shellcheck shell=bash
# Fetches npm canonicalize, whose RFC 8785 the canonical form is held against. To be sourced after
# common.sh and packages.sh.

canonicalize_version=5.1.0
canonicalize_modules=$build/canonicalize/node_modules

# Installed, never committed. npm checks what it fetched against the registry's checksum.
need_canonicalize() {
	need_npm
	if ! grep -qs "\"version\": \"$canonicalize_version\"" \
		"$canonicalize_modules/canonicalize/package.json"; then
		say "installing canonicalize $canonicalize_version"
		npm install --prefix "$build/canonicalize" --no-save --ignore-scripts --no-audit --no-fund \
			--loglevel=error "canonicalize@$canonicalize_version"
	fi
}
