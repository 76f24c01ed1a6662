// The canonical form of a JSON document, written as a stream.
//
// RFC 8785 with one deliberate difference: a number keeps its exact decimal digits (number.hpp).
// The caller walks the document and gives the members of every object in canonical order
// (key_order.hpp); the writer places separators, escapes strings and lays out numbers. It allocates
// nothing and remembers one bit of where it is, so nesting costs it no memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/number.hpp"
#include "core/sink.hpp"

namespace pg_idem {

// Exact is the canonical form. Doubles is RFC 8785 to the letter: each number as a double writes it
// (double_number.hpp), for numbers that a double can hold at all; the caller has looked for others.
enum class NumberForm : std::uint8_t { Exact, Doubles };

class CanonicalWriter {
public:
	explicit CanonicalWriter(Sink sink, NumberForm number_form = NumberForm::Exact)
		: sink_(sink), number_form_(number_form) {}

	void begin_object();
	void end_object();
	void begin_array();
	void end_array();
	void key(std::string_view name);    // then exactly one value
	void string(std::string_view text); // valid UTF-8
	void number(const Number &number);
	void boolean(bool value);
	void null();
	void canonical(std::string_view json); // a value that is in canonical form already

	// Bytes that are not JSON, for what stands before a document in a preimage.
	void verbatim(std::string_view bytes);

	// Hands what is buffered to the sink. Must be called once at the end.
	void flush();

private:
	void separate();
	void put(char byte);
	void put(std::string_view bytes);
	void exact(const Number &number);
	void escaped(char byte);
	void quoted(std::string_view text);

	Sink sink_;
	NumberForm number_form_;
	bool separator_due_ = false;
	std::size_t used_ = 0;
	std::array<char, 1024> buffer_;
};

} // namespace pg_idem
