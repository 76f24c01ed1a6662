#include "core/leaf_digests.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <new>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/canonical.hpp"
#include "core/leaves.hpp"

namespace pg_idem {

namespace {

constexpr std::size_t stored_size = 8;
constexpr std::uint8_t flag_with_key = 1, flag_shallow = 2;

template <typename T>
T *allocate(const Arena &arena, std::size_t count) {
	return static_cast<T *>(
		arena.allocate(arena.state, sizeof(T) * std::max(count, std::size_t{1})));
}

std::uint32_t path_digest(std::string_view name) {
	return static_cast<std::uint32_t>(XXH3_64bits(name.data(), name.size()));
}

char *put(char *out, std::uint32_t number) {
	for (int shift = 24; shift >= 0; shift -= 8)
		*out++ = static_cast<char>(number >> shift & 0xFF);
	return out;
}

std::uint32_t take(const char *in) {
	std::uint32_t number = 0;
	for (int i = 0; i < 4; ++i)
		number = number << 8 | static_cast<std::uint8_t>(in[i]);
	return number;
}

// A running digest of one value, salted with the row's key: digests of equal values differ from row to
// row, and from path to path.
class ValueDigest {
public:
	explicit ValueDigest(const Digest128 &key) {
		std::uint64_t salt = 0;
		for (std::size_t i = 0; i < sizeof salt; ++i)
			salt = salt << 8 | key[i];
		salt_ = salt;
	}

	void begin(std::uint32_t path) {
		XXH3_64bits_reset_withSeed(&state_, salt_);
		std::array<char, sizeof path> bytes;
		put(bytes.data(), path);
		feed(this, bytes.data(), bytes.size());
	}

	Sink sink() { return {feed, this}; }

	std::uint32_t end() { return static_cast<std::uint32_t>(XXH3_64bits_digest(&state_)); }

private:
	static void feed(void *state, const char *bytes, std::size_t count) {
		XXH3_64bits_update(&static_cast<ValueDigest *>(state)->state_, bytes, count);
	}

	std::uint64_t salt_;
	XXH3_state_t state_{}; // a reset reads the seed before
};

class Digester {
public:
	Digester(const Recipe &recipe, const Document &arguments, const Digest128 &key,
	         const Arena &arena)
		: recipe_(recipe), arguments_(arguments), arena_(arena), value_digest_(key) {}

	// False: there are more than `most`, of which none was digested.
	bool run(const LeafForm &form, std::size_t most, std::span<const NamedLeaf> &result) {
		const bool fields = recipe_.identity == Identity::Fields;
		const bool all_in_key = recipe_.identity == Identity::Arguments;
		const LeafWalk walk{form.shallow ? 1 : max_path_depth, true, most};
		std::span<const Leaf> leaves;
		if (all_in_key ? form.with_key : recipe_.binds)
			leaves = leaves_of(arguments_, not_bound(recipe_), walk, arena_);
		const std::size_t key_fields = fields && form.with_key ? recipe_.fields.size() : 0;
		if (key_fields > most || leaves.size() > most - key_fields)
			return false;
		items_ = allocate<NamedLeaf>(arena_, leaves.size() + key_fields);
		for (const Leaf &leaf : leaves)
			add(leaf.name, leaf.value.kind, [&](CanonicalWriter &writer) {
				write_leaf(leaf, arguments_, not_bound(recipe_), arena_, writer);
			});
		for (std::size_t i = 0; i < key_fields; ++i)
			add_key_field(recipe_.fields[i]);
		std::sort(items_, items_ + count_,
		          [](const NamedLeaf &a, const NamedLeaf &b) { return a.digest < b.digest; });
		result = {items_, count_};
		return true;
	}

private:
	void add_key_field(const KeyField &field) {
		Scratch scratch; // its buffers need no initial value
		scratch.arena = arena_;
		FieldValue value;
		const Problem problem = read_field(field, arguments_, scratch, value);
		if (problem == Problem::None && !value.present)
			return;
		add(spell_path(field.path, arena_), value.normal.kind, [&](CanonicalWriter &writer) {
			if (problem != Problem::None)
				writer.verbatim("?"); // no JSON
			else
				write_value(value.normal, arguments_, writer);
		});
	}

	template <typename Write>
	void add(std::string_view name, Kind kind, Write write) {
		NamedLeaf &leaf = *new (&items_[count_++]) NamedLeaf;
		leaf.name = name;
		leaf.kind = kind;
		leaf.digest.path = path_digest(leaf.name);
		value_digest_.begin(leaf.digest.path);
		CanonicalWriter writer(value_digest_.sink());
		write(writer);
		writer.flush();
		leaf.digest.value = value_digest_.end();
	}

	const Recipe &recipe_;
	const Document &arguments_;
	const Arena &arena_;
	ValueDigest value_digest_;
	NamedLeaf *items_ = nullptr;
	std::size_t count_ = 0;
};

} // namespace

std::span<const NamedLeaf> digest_leaves(const Recipe &recipe, const Document &arguments,
                                         const LeafForm &form, const Digest128 &key,
                                         const Arena &arena) {
	std::span<const NamedLeaf> leaves;
	Digester(recipe, arguments, key, arena)
		.run(form, std::numeric_limits<std::size_t>::max(), leaves);
	return leaves;
}

LeafRecord record_leaves(const Recipe &recipe, const Document &arguments, bool with_key,
                         const Digest128 &key, const Arena &arena) {
	for (const bool shallow : {false, true}) {
		const LeafForm form{with_key, shallow};
		std::span<const NamedLeaf> leaves;
		if (Digester(recipe, arguments, key, arena).run(form, most_leaves, leaves))
			return {form, leaves};
	}
	return {};
}

std::string_view encode_leaves(const LeafRecord &record, const Arena &arena) {
	if (record.leaves.empty())
		return {};
	char *const bytes = allocate<char>(arena, record.leaves.size() * stored_size + 1);
	char *out = bytes;
	for (const NamedLeaf &leaf : record.leaves)
		out = put(put(out, leaf.digest.path), leaf.digest.value);
	const int flags =
		(record.form.with_key ? flag_with_key : 0) | (record.form.shallow ? flag_shallow : 0);
	if (flags != 0)
		*out++ = static_cast<char>(flags);
	return {bytes, static_cast<std::size_t>(out - bytes)};
}

bool decode_leaves(std::string_view bytes, const Arena &arena, StoredLeaves &stored) {
	const std::size_t count = bytes.size() / stored_size;
	if (count == 0 || bytes.size() % stored_size > 1)
		return false;
	int flags = 0;
	if (bytes.size() % stored_size == 1) {
		flags = static_cast<std::uint8_t>(bytes.back());
		if (flags == 0 || flags > (flag_with_key | flag_shallow))
			return false;
	}
	auto *leaves = allocate<LeafDigest>(arena, count);
	for (std::size_t i = 0; i < count; ++i) {
		const char *in = bytes.data() + i * stored_size;
		new (&leaves[i]) LeafDigest{take(in), take(in + 4)};
	}
	if (!std::is_sorted(leaves, leaves + count))
		return false;
	stored.form = {(flags & flag_with_key) != 0, (flags & flag_shallow) != 0};
	stored.leaves = {leaves, count};
	return true;
}

std::uint32_t value_digest(const Digest128 &key, std::uint32_t path, std::string_view json) {
	ValueDigest digest(key);
	digest.begin(path);
	digest.sink().write(&digest, json.data(), json.size());
	return digest.end();
}

} // namespace pg_idem
