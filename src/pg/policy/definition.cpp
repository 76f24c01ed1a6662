#include "pg/policy/definition.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
}

#include <algorithm>

#include "pg/errors.hpp"

namespace pg_idem {

namespace {

// More than anybody needs, and few enough that comparing all pairs costs nothing.
constexpr int max_paths = 64;

void *allocate(void *context, std::size_t size) {
	return MemoryContextAlloc(static_cast<MemoryContext>(context), size);
}

std::string_view copy(Arena &arena, std::string_view text) {
	auto *bytes = static_cast<char *>(arena.allocate(arena.state, text.size() + 1));
	memcpy(bytes, text.data(), text.size());
	return {bytes, text.size()};
}

DefinitionFault read_key_fields(Jsonb *key_fields, Arena &arena,
                                std::span<const KeyField> &result) {
	if (!JB_ROOT_IS_OBJECT(key_fields))
		return {
			"key_fields is not an object", "It maps the path of an argument to a normaliser.", {}};
	const int count = JB_ROOT_COUNT(key_fields);
	if (count == 0)
		return {"there are no key fields",
		        "identity => 'arguments' makes all arguments the identity.",
		        {}};
	if (count > max_paths)
		return {"there are too many key fields", "At most 64 fields make up a key.", {}};
	auto *fields = static_cast<KeyField *>(arena.allocate(arena.state, sizeof(KeyField) * count));
	int filled = 0;
	JsonbIterator *iterator = JsonbIteratorInit(&key_fields->root);
	JsonbValue value;
	JsonbIteratorToken token;
	while ((token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE) {
		if (token == WJB_KEY) {
			KeyField &field = *new (&fields[filled]) KeyField;
			field.name =
				copy(arena, {value.val.string.val, static_cast<std::size_t>(value.val.string.len)});
			if (!parse_path(field.name, arena, field.path))
				return {
					"key field \"%.*s\" is not a path",
					"A path is dotted; a segment that holds a dot or a bracket is double-quoted.",
					field.name};
		} else if (token == WJB_VALUE) {
			KeyField &field = fields[filled++];
			if (value.type != jbvString ||
			    !parse_normaliser(copy(arena, {value.val.string.val,
			                                   static_cast<std::size_t>(value.val.string.len)}),
			                      arena, field))
				return {
					"key field \"%.*s\" has an unknown normaliser",
					"It is exact, or up to four steps joined by |, each taking what the one before gives: upper, lower, trim, text, casefold, nfc, uuid, timestamp, date, email, url, number, integer, minor_units(field), minor_units(digits), boolean, set. The word optional may follow.",
					field.name};
		}
	}
	std::sort(fields, fields + count,
	          [](const KeyField &a, const KeyField &b) { return path_before(a.path, b.path); });
	result = {fields, static_cast<std::size_t>(count)};
	return {};
}

// What is said of a list of paths.
struct PathTexts {
	const char *too_many;
	const char *too_many_hint;
	const char *null;
	const char *no_path;
	const char *overlap;
	const char *overlap_hint;
};

constexpr PathTexts unchecked_texts = {"there are too many unchecked fields",
                                       "At most 64 fields can be unchecked.",
                                       "an unchecked field is NULL",
                                       "unchecked field \"%.*s\" is not a path",
                                       "unchecked fields overlap",
                                       "A field that is unchecked includes all that is below it."};
constexpr PathTexts exclusive_texts = {"there are too many exclusive fields",
                                       "At most 64 fields can be exclusive.",
                                       "an exclusive field is NULL",
                                       "exclusive field \"%.*s\" is not a path",
                                       "exclusive fields overlap",
                                       "A field includes all that is below it."};

DefinitionFault read_paths(ArrayType *array, const PathTexts &texts, Arena &arena,
                           std::span<const Path> &result) {
	Datum *elements;
	bool *nulls;
	int count;
	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, &count);
	if (count > max_paths)
		return {texts.too_many, texts.too_many_hint, {}};
	auto *paths = static_cast<Path *>(arena.allocate(arena.state, sizeof(Path) * Max(count, 1)));
	for (int i = 0; i < count; ++i) {
		if (nulls[i])
			return {texts.null, nullptr, {}};
		text *element = DatumGetTextPP(elements[i]);
		const std::string_view name =
			copy(arena, {VARDATA_ANY(element), VARSIZE_ANY_EXHDR(element)});
		if (!parse_path(name, arena, *new (&paths[i]) Path))
			return {texts.no_path,
			        "A path is dotted; a segment that holds a dot or a bracket is double-quoted.",
			        name};
	}
	std::sort(paths, paths + count, path_before);
	for (int i = 1; i < count; ++i)
		if (covers(paths[i - 1], paths[i]))
			return {texts.overlap, texts.overlap_hint, {}};
	result = {paths, static_cast<std::size_t>(count)};
	return {};
}

bool is_at(const KeyField &field, const Path &path) {
	return covers(field.path, path) && covers(path, field.path);
}

// Key fields as the key has them; of other identities any argument, as it is.
DefinitionFault read_exclusive(ArrayType *exclusive, const Recipe &recipe, Arena &arena,
                               std::span<const KeyField> &result) {
	std::span<const Path> paths;
	const DefinitionFault fault = read_paths(exclusive, exclusive_texts, arena, paths);
	if (fault.what != nullptr)
		return fault;
	auto *fields = static_cast<KeyField *>(
		arena.allocate(arena.state, sizeof(KeyField) * Max(paths.size(), size_t{1})));
	for (std::size_t i = 0; i < paths.size(); ++i) {
		KeyField &field = *new (&fields[i]) KeyField;
		field.name = spell_path(paths[i], arena);
		field.path = paths[i];
		if (recipe.identity != Identity::Fields)
			continue;
		const auto found = std::find_if(recipe.fields.begin(), recipe.fields.end(),
		                                [&](const KeyField &key) { return is_at(key, paths[i]); });
		if (found == recipe.fields.end() || found->optional)
			return {"exclusive field \"%.*s\" is no key field that is always there",
			        "An intent's subject is a part of its key.", field.name};
		field = *found;
	}
	result = {fields, paths.size()};
	return {};
}

bool overlap(const Path &a, const Path &b) {
	return covers(a, b) || covers(b, a);
}

DefinitionFault check_overlaps(const Recipe &recipe) {
	for (std::size_t i = 0; i < recipe.fields.size(); ++i) {
		const KeyField &field = recipe.fields[i];
		for (std::size_t j = i + 1; j < recipe.fields.size(); ++j)
			if (overlap(field.path, recipe.fields[j].path))
				return {"key field \"%.*s\" overlaps another key field",
				        "Name the innermost fields only.", field.name};
		const Path &unit = field.normaliser.unit;
		for (const Path &path : recipe.unchecked) {
			if (overlap(field.path, path))
				return {"key field \"%.*s\" overlaps an unchecked field",
				        "A field is in the key, or bound by the fingerprint, or unchecked.",
				        field.name};
			if (unit.depth > 0 && overlap(unit, path))
				return {"the currency of key field \"%.*s\" is unchecked",
				        "Without its currency an amount in minor units says nothing.", field.name};
		}
	}
	return {};
}

} // namespace

Arena arena_in(MemoryContext context) {
	return {allocate, context};
}

DefinitionFault compile_recipe(std::string_view operation, int32 version, std::string_view identity,
                               Jsonb *key_fields, ArrayType *unchecked_fields,
                               std::string_view bind, ArrayType *exclusive, Arena arena,
                               Recipe &recipe) {
	recipe.operation = operation;
	recipe.version = version;
	if (identity == "fields")
		recipe.identity = Identity::Fields;
	else if (identity == "arguments")
		recipe.identity = Identity::Arguments;
	else if (identity == "occurrence")
		recipe.identity = Identity::Occurrence;
	else
		return {
			"the identity is unknown", "Identity is one of fields, arguments and occurrence.", {}};
	if ((recipe.identity == Identity::Fields) != (key_fields != nullptr))
		return {"key fields and identity disagree",
		        "Key fields go with identity fields and with no other.",
		        {}};
	DefinitionFault fault;
	if (key_fields != nullptr &&
	    (fault = read_key_fields(key_fields, arena, recipe.fields)).what != nullptr)
		return fault;
	if (unchecked_fields != nullptr &&
	    (fault = read_paths(unchecked_fields, unchecked_texts, arena, recipe.unchecked)).what !=
	        nullptr)
		return fault;
	if ((fault = check_overlaps(recipe)).what != nullptr)
		return fault;
	if (bind != "all" && bind != "none")
		return {"what it binds is unknown", "bind is all or none.", {}};
	recipe.binds = bind == "all";
	if (!recipe.binds && recipe.identity != Identity::Arguments && !recipe.unchecked.empty())
		return {"unchecked fields go with bind => 'all'",
		        "Nothing outside the key is checked with bind => 'none'.",
		        {}};

	if (exclusive != nullptr &&
	    (fault = read_exclusive(exclusive, recipe, arena, recipe.exclusive)).what != nullptr)
		return fault;

	const std::size_t count = recipe.fields.size() + recipe.unchecked.size();
	auto *unbound = static_cast<Path *>(arena.allocate(arena.state, sizeof(Path) * Max(count, 1)));
	for (std::size_t i = 0; i < recipe.fields.size(); ++i)
		new (&unbound[i]) Path(recipe.fields[i].path);
	for (std::size_t i = 0; i < recipe.unchecked.size(); ++i)
		new (&unbound[recipe.fields.size() + i]) Path(recipe.unchecked[i]);
	std::sort(unbound, unbound + count, path_before);
	recipe.unbound = {unbound, count};
	return {};
}

void raise_definition_fault(std::string_view operation, const DefinitionFault &fault) {
	char *what =
		fault.field.data() == nullptr
			? pstrdup(fault.what)
			: psprintf(fault.what, static_cast<int>(fault.field.size()), fault.field.data());
	ereport(ERROR, (errcode(errcode_invalid_definition),
	                errmsg("invalid definition of operation \"%.*s\": %s",
	                       static_cast<int>(operation.size()), operation.data(), what),
	                fault.hint != nullptr ? errhint("%s", fault.hint) : 0));
	pg_unreachable();
}

} // namespace pg_idem
