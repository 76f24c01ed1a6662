# shellcheck shell=bash
# Builds and installs the module. To be sourced after common.sh and packages.sh.

module_build=$build/module

# build_module FOLDER [MAKE ARGUMENT...]
build_module() {
	local folder=$1
	shift
	mkdir -p "$folder"
	make --no-print-directory -C "$folder" -f "$project/Makefile" -j"$(nproc)" "$@"
}

# Needs root: the server's folders are root's.
install_module() {
	as_root make --no-print-directory -s -C "$module_build" -f "$project/Makefile" install \
		PG_CONFIG="$PG_CONFIG"
}

# What a test on a server needs first. Quick when nothing has changed.
need_module() {
	need_packages "${server_packages[@]}" "$@"
	say "building and installing the module"
	build_module "$module_build" -s
	install_module
}
