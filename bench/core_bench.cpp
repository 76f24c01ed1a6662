// Time of the canonical form and its digest, apart from any database.

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "core/digest.hpp"
#include "support/json_document.hpp"
#include "support/vectors.hpp"

namespace pg_idem::test {
namespace {

// A payment of 530 bytes in canonical form: the size that webhooks and tool calls have.
constexpr std::string_view payment = R"({"id":"pay_8Zr1mKq4Tn20","amount":12999,"currency":"GBP",
"captured":true,"created":1764489600,"customer":{"id":"cus_44718","name":"Zoë Ådahl",
"email":"zoe@example.org","address":{"line1":"1 Long Lane","city":"York","postcode":"YO1 7HH",
"country":"GB"}},"items":[{"sku":"A-100","quantity":2,"price":49.95,"tax":0.2},
{"sku":"B-7","quantity":1,"price":30.09,"tax":0.05}],"fees":{"fixed":0.3,"rate":0.029,
"total":4.07},"metadata":{"order_ref":"o-2026-11-30-771","channel":"agent","note":"say \"hello\"",
"retry":null,"score":0.97531},"livemode":false,"shipping":{"carrier":"post","days":3}})";

constexpr auto discard = [](void *, const char *bytes, std::size_t) {
	benchmark::DoNotOptimize(bytes);
};

void write(const JsonDocument &document, const Sink &sink) {
	CanonicalWriter writer(sink);
	document.write(document.root(), {}, writer);
	writer.flush();
}

void count_bytes(benchmark::State &state, std::size_t bytes) {
	state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * bytes));
}

void canonical_payment(benchmark::State &state) {
	const JsonDocument parsed = document(payment);
	for ([[maybe_unused]] auto _ : state)
		write(parsed, {discard, nullptr});
	count_bytes(state, canonical_text(payment).size());
}
BENCHMARK(canonical_payment);

void digest_payment(benchmark::State &state) {
	const JsonDocument parsed = document(payment);
	Digest digest{};
	for ([[maybe_unused]] auto _ : state) {
		digest_begin();
		write(parsed, digest_sink);
		digest_end(digest);
		benchmark::DoNotOptimize(digest);
	}
	count_bytes(state, canonical_text(payment).size());
}
BENCHMARK(digest_payment);

void sha256_alone(benchmark::State &state) {
	const std::string text = canonical_text(payment);
	Digest digest{};
	for ([[maybe_unused]] auto _ : state) {
		digest_begin();
		digest_sink.write(digest_sink.state, text.data(), text.size());
		digest_end(digest);
		benchmark::DoNotOptimize(digest);
	}
	count_bytes(state, text.size());
}
BENCHMARK(sha256_alone);

void canonical_vectors(benchmark::State &state) {
	std::vector<JsonDocument> documents;
	std::size_t bytes = 0;
	for (const std::string &line : vector_lines("docs_in.jsonl")) {
		documents.push_back(document(line));
		bytes += canonical_text(line).size();
	}
	for ([[maybe_unused]] auto _ : state) {
		for (const JsonDocument &parsed : documents)
			write(parsed, {discard, nullptr});
	}
	count_bytes(state, bytes);
}
BENCHMARK(canonical_vectors)->Unit(benchmark::kMillisecond);

} // namespace
} // namespace pg_idem::test

BENCHMARK_MAIN();
