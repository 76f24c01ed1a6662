# shellcheck shell=bash
# Lane: tests that start, crash and restart servers of their own.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/../lib/common.sh"
. "$project/scripts/lib/packages.sh"
. "$project/scripts/lib/module.sh"
. "$project/scripts/lib/scratch.sh"
. "$project/scripts/lib/webhooks.sh"
. "$project/scripts/lib/canonicalize.sh"
. "$project/scripts/lib/mcp_refunds.sh"

compgen -G "$project/test/t/*.pl" >/dev/null || die "there is no TAP test"
need_module "${test_packages[@]}"
need_pooler
need_webhooks
need_canonicalize
need_mcp_refunds
make_scratch
copy_project
cp -r "$webhooks" "$copy/webhooks"
cp -r "$canonicalize_modules" "$copy/node_modules"
cp -r "$mcp_refunds_modules" "$copy/examples/mcp_refunds/"
give_to_server_user "$copy/webhooks" "$copy/node_modules" "$copy/examples/mcp_refunds"

if ! as_server_user env PG_IDEM_WEBHOOKS="$copy/webhooks" make -s --no-print-directory -C "$copy" \
	installcheck REGRESS= ISOLATION= PG_CONFIG="$PG_CONFIG" PROVE_FLAGS="-j$(nproc)"; then
	keep_output tap "$copy/tmp_check/log"
	exit 1
fi
