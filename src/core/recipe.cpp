#include "core/recipe.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/normaliser_chain.hpp"
#include "core/white_space.hpp"

namespace pg_idem {

namespace {

constexpr std::string_view optional_word = "optional";

// Takes ` optional`, or the word alone, off the end.
bool take_optional(std::string_view &text) {
	if (!text.ends_with(optional_word))
		return false;
	const std::string_view before = text.substr(0, text.size() - optional_word.size());
	const std::string_view rest = trimmed(before);
	if (rest.size() == before.size() && !before.empty())
		return false;
	text = rest;
	return true;
}

// How many objects above the member two paths share.
std::size_t shared_parents(const Path &a, const Path &b) {
	const std::size_t most = std::min(a.depth, b.depth) - std::size_t{1};
	std::size_t shared = 0;
	while (shared < most && a.segments[shared] == b.segments[shared])
		++shared;
	return shared;
}

Fault write_fields(std::span<const KeyField> fields, const Document &arguments, Arena &arena,
                   CanonicalWriter &writer) {
	if (arguments.root().kind != Kind::Object)
		return {Problem::ArgumentsNotObject, {}};

	Scratch scratch; // its buffers need no initial value
	scratch.arena = arena;
	const Path *previous = nullptr;
	std::size_t open = 0; // objects below the root
	bool any = false;
	writer.begin_object();
	for (const KeyField &field : fields) {
		FieldValue value;
		const Problem problem = read_field(field, arguments, scratch, value);
		if (problem != Problem::None)
			return {problem, field.name};
		if (!value.present)
			continue;
		any = any || value.normal.kind != Kind::Null;

		const std::size_t shared = previous == nullptr ? 0 : shared_parents(*previous, field.path);
		for (; open > shared; --open)
			writer.end_object();
		for (; open + 1 < field.path.depth; ++open) {
			writer.key(field.path.segments[open]);
			writer.begin_object();
		}
		writer.key(field.path.segments[open]);
		write_value(value.normal, arguments, writer);
		previous = &field.path;
	}
	for (; open > 0; --open)
		writer.end_object();
	writer.end_object();
	// Requests without any key field would all be one intent.
	return {any ? Problem::None : Problem::NoKeyField, {}};
}

} // namespace

bool parse_normaliser(std::string_view text, Arena &arena, KeyField &field) {
	std::string_view rest = trimmed(text);
	const bool optional = take_optional(rest);
	Normaliser normaliser;
	if (!(rest.empty() && optional) && !parse_chain(rest, arena, normaliser))
		return false;
	field.normaliser = normaliser;
	field.optional = optional;
	return true;
}

Problem read_field(const KeyField &field, const Document &arguments, Scratch &scratch,
                   FieldValue &value) {
	const Value &found = value.found;
	value.present = arguments.find(field.path, value.found);
	if (!value.present)
		return field.optional ? Problem::None : Problem::Missing;
	if (found.kind == Kind::Null)
		return field.optional ? Problem::None : Problem::Null;
	if (!field.optional && found.kind == Kind::String && is_blank(found.string))
		return Problem::Blank;

	Value currency;
	if (field.normaliser.unit.depth > 0 && !arguments.find(field.normaliser.unit, currency))
		currency.kind = Kind::Null;
	return normalise(field.normaliser, found, currency, arguments, scratch, value.normal);
}

Fault write_intent(const Recipe &recipe, const Document &arguments, Arena &arena,
                   CanonicalWriter &writer) {
	if (recipe.identity == Identity::Fields)
		return write_fields(recipe.fields, arguments, arena, writer);
	arguments.write(arguments.root(), recipe.unchecked, writer);
	return {};
}

Fault write_key_document(const Recipe &recipe, std::string_view tenant, std::string_view occurrence,
                         const Document &arguments, Arena &arena, CanonicalWriter &writer) {
	writer.begin_object();
	if (recipe.identity == Identity::Occurrence) {
		writer.key("occurrence");
		writer.string(occurrence);
	} else {
		writer.key("args");
		const Fault fault = write_intent(recipe, arguments, arena, writer);
		if (fault.problem != Problem::None)
			return fault;
	}
	writer.key("tenant");
	writer.string(tenant);
	writer.end_object();
	return {};
}

Fault write_preimage(const Recipe &recipe, std::string_view tenant, std::string_view occurrence,
                     const Document &arguments, Arena &arena, CanonicalWriter &writer) {
	writer.verbatim(recipe.operation);
	if (recipe.identity == Identity::Occurrence) {
		writer.verbatim(":occurrence:");
	} else {
		std::array<char, 11> version; // -2147483648
		const char *const end =
			std::to_chars(version.data(), version.data() + version.size(), recipe.version).ptr;
		writer.verbatim(":v");
		writer.verbatim({version.data(), static_cast<std::size_t>(end - version.data())});
		writer.verbatim(":");
	}
	return write_key_document(recipe, tenant, occurrence, arguments, arena, writer);
}

Fault write_subject(const Recipe &recipe, std::string_view tenant, const Document &arguments,
                    Arena &arena, CanonicalWriter &writer) {
	writer.verbatim(recipe.operation);
	writer.verbatim(":subject:");
	writer.begin_object();
	writer.key("args");
	const Fault fault = write_fields(recipe.exclusive, arguments, arena, writer);
	if (fault.problem != Problem::None)
		return fault;
	writer.key("tenant");
	writer.string(tenant);
	writer.end_object();
	return {};
}

// Identity `occurrence` binds every argument; the key covers none.
std::span<const Path> not_bound(const Recipe &recipe) {
	return recipe.identity == Identity::Fields ? recipe.unbound : recipe.unchecked;
}

bool has_bound(const Recipe &recipe, const Document &arguments) {
	if (recipe.identity == Identity::Arguments || !recipe.binds)
		return false;
	const Value root = arguments.root();
	return root.kind != Kind::Object || !arguments.is_empty_without(root, not_bound(recipe));
}

bool write_bound(const Recipe &recipe, const Document &arguments, CanonicalWriter &writer) {
	if (!has_bound(recipe, arguments))
		return false;
	arguments.write(arguments.root(), not_bound(recipe), writer);
	return true;
}

bool is_blank(std::string_view text) {
	while (const std::size_t size = white_space_size(text))
		text.remove_prefix(size);
	return text.empty();
}

} // namespace pg_idem
