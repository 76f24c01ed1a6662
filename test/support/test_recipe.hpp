// A recipe from texts, as a policy has them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/recipe.hpp"
#include "support/test_arena.hpp"

namespace pg_idem::test {

struct RecipeTexts {
	Identity identity = Identity::Fields;
	std::string operation = "create_refund";
	std::int32_t version = 1;
	std::vector<std::pair<std::string, std::string>> fields = {}; // path, normaliser
	std::vector<std::string> unchecked = {};
};

class TestRecipe {
public:
	// Throws if a path or a normaliser is malformed.
	explicit TestRecipe(RecipeTexts texts);
	TestRecipe(const TestRecipe &) = delete;
	TestRecipe &operator=(const TestRecipe &) = delete;

	const Recipe &get() const { return recipe_; }

	// Of a request: the value of "args", the key's preimage, what the fingerprint covers.
	std::string intent(const Document &arguments);
	std::string preimage(const Document &arguments, std::string_view tenant = "acme",
	                     std::string_view occurrence = {});
	std::string bound(const Document &arguments); // "unbound" when nothing is left to bind
	Fault fault(const Document &arguments);

	Arena arena() { return memory_.arena(); }

private:
	Path path(std::string_view text);

	TestArena memory_;
	RecipeTexts texts_;
	std::vector<KeyField> fields_;
	std::vector<Path> unchecked_;
	std::vector<Path> unbound_;
	Recipe recipe_;
};

} // namespace pg_idem::test
