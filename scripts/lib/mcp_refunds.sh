# shellcheck shell=bash
# Fetches the npm packages of examples/mcp_refunds. To be sourced after common.sh and packages.sh.

mcp_refunds=$build/mcp_refunds
# shellcheck disable=SC2034 # for the scripts that source this
mcp_refunds_modules=$mcp_refunds/node_modules

# Installed, never committed: what package-lock.json names, with its checksums, and nothing else.
need_mcp_refunds() {
	need_npm
	local example=$project/examples/mcp_refunds
	if ! cmp -s "$example/package-lock.json" "$mcp_refunds/installed.json"; then
		say "installing the npm packages of examples/mcp_refunds"
		mkdir -p "$mcp_refunds"
		cp "$example/package.json" "$example/package-lock.json" "$mcp_refunds/"
		npm ci --prefix "$mcp_refunds" --ignore-scripts --no-audit --no-fund --loglevel=error
		cp "$example/package-lock.json" "$mcp_refunds/installed.json"
	fi
}
