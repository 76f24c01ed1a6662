# shellcheck shell=bash
# Lane: the module without a warning, its exports; installs it.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/../lib/common.sh"
. "$project/scripts/lib/packages.sh"
. "$project/scripts/lib/module.sh"

need_packages "${server_packages[@]}" binutils

# From nothing: an object of an earlier build has no warnings to give.
rm -rf "$module_build"
build_module "$module_build" -s WERROR=1
install_module

# The export list as one pattern for whole lines.
pattern=$(sed -e '/^#/d' -e 's/\*/.*/g' "$project/exports.txt" | paste -sd'|')
exported=$(nm -D --defined-only "$module_build/pg_idem.so" | awk '{ print $3 }')
passed=0 failed=0
while read -r symbol; do
	if [[ $symbol =~ ^($pattern)$ ]]; then
		passed=$((passed + 1))
	else
		echo "FAILED  exported, but not in exports.txt: $symbol"
		failed=$((failed + 1))
	fi
done <<<"$exported"
# Each line of the list must be of use too.
while read -r line; do
	if grep -qxE "${line//\*/.*}" <<<"$exported"; then
		passed=$((passed + 1))
	else
		echo "FAILED  in exports.txt, but not exported: $line"
		failed=$((failed + 1))
	fi
done < <(sed '/^#/d' "$project/exports.txt")
say "the module is installed; $(wc -l <<<"$exported") exported symbols checked against exports.txt"
closing_line "$passed" "$failed"
