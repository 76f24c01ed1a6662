# shellcheck shell=bash
# Lane: unit tests of src/core, plain and under ASan and UBSan, and the fuzzers.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/../lib/common.sh"
. "$project/scripts/lib/packages.sh"

need_packages "${module_packages[@]}" cmake pkg-config libgtest-dev libbenchmark-dev clang-14 \
	libclang-rt-14-dev

# unit_tests NAME [CMAKE ARGUMENT...]
unit_tests() {
	local folder=$build/$1
	say "unit tests: $1"
	shift
	cmake -S "$project" -B "$folder" -DCMAKE_RULE_MESSAGES=OFF "$@" >/dev/null
	cmake --build "$folder" -j"$(nproc)" -- --no-print-directory -s
	ctest --test-dir "$folder" --output-on-failure --no-tests=error -j"$(nproc)" |
		grep -vE '^ +Start +[0-9]+:'
}

unit_tests core -DCMAKE_BUILD_TYPE=RelWithDebInfo
unit_tests core-sanitized -DCMAKE_BUILD_TYPE=RelWithDebInfo -DPG_IDEM_SANITIZE=address,undefined

say "fuzzers"
fuzz=$build/core-fuzz
cmake -S "$project" -B "$fuzz" -DCMAKE_RULE_MESSAGES=OFF -DCMAKE_CXX_COMPILER=clang++-14 \
	-DCMAKE_BUILD_TYPE=RelWithDebInfo -DPG_IDEM_FUZZ=ON >/dev/null
cmake --build "$fuzz" -j"$(nproc)" -- --no-print-directory -s
mapfile -t fuzzers < <(find "$fuzz" -type f -executable -name 'fuzz_*' | sort)
[ ${#fuzzers[@]} -gt 0 ] || die "no fuzzer was built"
seconds=${PG_IDEM_FUZZ_SECONDS:-$((60 / ${#fuzzers[@]}))}
passed=0 failed=0
for fuzzer in "${fuzzers[@]}"; do
	name=$(basename "$fuzzer")
	corpus=$fuzz/corpus/$name
	mkdir -p "$corpus"
	seeds=("$corpus")
	if [ -d "$project/test/fuzz/seeds/${name#fuzz_}" ]; then
		seeds+=("$project/test/fuzz/seeds/${name#fuzz_}")
	fi
	if "$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix="$fuzz/" "${seeds[@]}" >"$fuzz/$name.log" 2>&1; then
		printf 'ok      %s: %s runs in %s s\n' "$name" \
			"$(awk '/number_of_executed_units/ { print $2 }' "$fuzz/$name.log")" "$seconds"
		passed=$((passed + 1))
	else
		echo "FAILED  $name"
		tail -n 60 "$fuzz/$name.log"
		failed=$((failed + 1))
	fi
done
closing_line "$passed" "$failed"
