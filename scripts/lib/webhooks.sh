# shellcheck shell=bash
# Fetches the payloads of the webhook inbox. To be sourced after common.sh and packages.sh.

webhooks_package=@octokit/webhooks-examples
webhooks_version=7.6.1
webhooks=$build/webhooks/node_modules/$webhooks_package

# They are installed, never committed: data that nobody here wrote. npm checks what it fetched
# against the registry's checksum.
need_webhooks() {
	need_npm
	need_packages "${webhook_packages[@]}"
	if ! grep -qs "\"version\": \"$webhooks_version\"" "$webhooks/package.json"; then
		say "installing $webhooks_package $webhooks_version"
		npm install --prefix "$build/webhooks" --no-save --ignore-scripts --no-audit --no-fund \
			--loglevel=error "$webhooks_package@$webhooks_version"
	fi
}
