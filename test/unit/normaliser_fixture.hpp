// One value, normalised on its own.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/normaliser.hpp"
#include "core/recipe.hpp"
#include "support/json_document.hpp"
#include "support/test_arena.hpp"
#include "unit/problem_names.hpp"

namespace pg_idem::test {

class NormaliserTest : public ::testing::Test {
protected:
	// The canonical text of the value that `json` becomes, or the problem's name in brackets.
	std::string normal(std::string_view normaliser, std::string_view json,
	                   std::string_view currency = "null") {
		Value out;
		const Problem problem = apply(normaliser, json, currency, out);
		if (problem != Problem::None)
			return "[" + ::testing::PrintToString(problem) + "]";
		return written([&](CanonicalWriter &writer) { write_value(out, value_, writer); });
	}

	Problem problem(std::string_view normaliser, std::string_view json,
	                std::string_view currency = "null") {
		Value out;
		return apply(normaliser, json, currency, out);
	}

	Problem apply(std::string_view text, std::string_view json, std::string_view currency,
	              Value &out) {
		Arena arena = memory_.arena();
		KeyField field;
		EXPECT_TRUE(parse_normaliser(text, arena, field)) << text;
		value_ = document(json);
		currency_ = document(currency);
		scratch_.arena = arena;
		return normalise(field.normaliser, value_.root(), currency_.root(), value_, scratch_, out);
	}

	TestArena memory_;
	Scratch scratch_;
	JsonDocument value_ = document("null");
	JsonDocument currency_ = document("null");
};

} // namespace pg_idem::test
