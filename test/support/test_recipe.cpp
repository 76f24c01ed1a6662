#include "support/test_recipe.hpp"

#include <algorithm>
#include <stdexcept>

#include "support/json_document.hpp"

namespace pg_idem::test {

TestRecipe::TestRecipe(RecipeTexts texts) : texts_(std::move(texts)) {
	Arena memory = arena();
	for (const auto &[name, normaliser] : texts_.fields) {
		KeyField &field = fields_.emplace_back();
		field.name = name;
		field.path = path(name);
		if (!parse_normaliser(normaliser, memory, field))
			throw std::invalid_argument("not a normaliser: " + normaliser);
		unbound_.push_back(field.path);
	}
	for (const std::string &text : texts_.unchecked)
		unbound_.push_back(unchecked_.emplace_back(path(text)));

	std::sort(fields_.begin(), fields_.end(),
	          [](const KeyField &a, const KeyField &b) { return path_before(a.path, b.path); });
	std::sort(unchecked_.begin(), unchecked_.end(), path_before);
	std::sort(unbound_.begin(), unbound_.end(), path_before);
	recipe_ = {texts_.identity, texts_.operation, texts_.version, fields_,
	           unchecked_,      unbound_,         true,           {}};
}

Path TestRecipe::path(std::string_view text) {
	Arena memory = arena();
	Path parsed;
	if (!parse_path(text, memory, parsed))
		throw std::invalid_argument("not a path: " + std::string(text));
	return parsed;
}

std::string TestRecipe::intent(const Document &arguments) {
	Arena memory = arena();
	return written([&](CanonicalWriter &writer) {
		if (write_intent(recipe_, arguments, memory, writer).problem != Problem::None)
			throw std::invalid_argument("the request has a fault");
	});
}

std::string TestRecipe::preimage(const Document &arguments, std::string_view tenant,
                                 std::string_view occurrence) {
	Arena memory = arena();
	return written([&](CanonicalWriter &writer) {
		if (write_preimage(recipe_, tenant, occurrence, arguments, memory, writer).problem !=
		    Problem::None)
			throw std::invalid_argument("the request has a fault");
	});
}

std::string TestRecipe::bound(const Document &arguments) {
	bool anything = false;
	std::string text = written(
		[&](CanonicalWriter &writer) { anything = write_bound(recipe_, arguments, writer); });
	return anything ? text : "unbound";
}

Fault TestRecipe::fault(const Document &arguments) {
	Arena memory = arena();
	Fault fault;
	written([&](CanonicalWriter &writer) {
		fault = write_preimage(recipe_, "acme", {}, arguments, memory, writer);
	});
	return fault;
}

} // namespace pg_idem::test
