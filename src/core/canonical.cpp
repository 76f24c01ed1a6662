#include "core/canonical.hpp"

#include <cstdint>
#include <cstring>

#include "core/double_number.hpp"
#include "core/number_digits.hpp"

namespace pg_idem {

namespace {

constexpr std::uint64_t every_byte(std::uint8_t value) {
	return value * std::uint64_t{0x0101010101010101};
}

constexpr bool must_escape(char byte) {
	return static_cast<unsigned char>(byte) < 0x20 || byte == '"' || byte == '\\';
}

// Whether any byte of the word must be escaped. In a byte below 0x80 the top bit of each difference
// says that it borrowed: that the byte was a quote, a backslash, below 0x20. A borrow that spills into
// the next byte comes from a byte that counts already.
constexpr bool any_must_escape(std::uint64_t word) {
	const std::uint64_t borrowed = ((word ^ every_byte('"')) - every_byte(1)) |
	                               ((word ^ every_byte('\\')) - every_byte(1)) |
	                               (word - every_byte(0x20));
	return (borrowed & ~word & every_byte(0x80)) != 0;
}

template <typename Word>
Word load(const char *bytes) {
	Word word;
	std::memcpy(&word, bytes, sizeof word);
	return word;
}

// Copies text that needs no escape, which nearly all text does not. False: it does, and what was
// written to `out`, which has room for all of it, is void.
bool copy_clean(char *out, std::string_view text) {
	const char *const bytes = text.data();
	const std::size_t size = text.size();
	constexpr std::size_t whole = sizeof(std::uint64_t);
	constexpr std::size_t half = sizeof(std::uint32_t);
	const auto copy_word = [=](std::size_t at) {
		const auto word = load<std::uint64_t>(bytes + at);
		std::memcpy(out + at, &word, whole);
		return !any_must_escape(word);
	};

	// The last word overlaps the one before it.
	if (size >= whole) {
		for (std::size_t at = 0; at + whole < size; at += whole) {
			if (!copy_word(at))
				return false;
		}
		return copy_word(size - whole);
	}
	if (size >= half) {
		const auto first = load<std::uint32_t>(bytes);
		const auto last = load<std::uint32_t>(bytes + size - half);
		std::memcpy(out, &first, half);
		std::memcpy(out + size - half, &last, half);
		return !any_must_escape(std::uint64_t{first} << 32 | last);
	}
	for (std::size_t i = 0; i < size; ++i) {
		if (must_escape(bytes[i]))
			return false;
		out[i] = bytes[i];
	}
	return true;
}

// How many bytes at the start need no escape.
std::size_t clean_length(std::string_view text) {
	std::size_t i = 0;
	while (i + sizeof(std::uint64_t) <= text.size() &&
	       !any_must_escape(load<std::uint64_t>(text.data() + i)))
		i += sizeof(std::uint64_t);
	while (i < text.size() && !must_escape(text[i]))
		++i;
	return i;
}

// The short escape of a byte, or nothing.
constexpr char short_escape(char byte) {
	switch (byte) {
	case '"':
	case '\\': return byte;
	case '\b': return 'b';
	case '\t': return 't';
	case '\n': return 'n';
	case '\f': return 'f';
	case '\r': return 'r';
	default: return '\0';
	}
}

} // namespace

void CanonicalWriter::flush() {
	if (used_ == 0)
		return;
	const std::size_t count = used_;
	used_ = 0;
	sink_.write(sink_.state, buffer_.data(), count);
}

void CanonicalWriter::put(char byte) {
	if (used_ == buffer_.size())
		flush();
	buffer_[used_++] = byte;
}

void CanonicalWriter::put(std::string_view bytes) {
	if (bytes.size() > buffer_.size() - used_) {
		flush();
		if (bytes.size() > buffer_.size()) {
			sink_.write(sink_.state, bytes.data(), bytes.size());
			return;
		}
	}
	std::memcpy(buffer_.data() + used_, bytes.data(), bytes.size());
	used_ += bytes.size();
}

void CanonicalWriter::separate() {
	if (separator_due_)
		put(',');
	separator_due_ = true;
}

void CanonicalWriter::escaped(char byte) {
	if (const char letter = short_escape(byte)) {
		put('\\');
		put(letter);
		return;
	}
	put("\\u00");
	put(byte < 0x10 ? '0' : '1');
	put("0123456789abcdef"[byte & 0x0F]);
}

void CanonicalWriter::quoted(std::string_view text) {
	constexpr std::size_t quotes = 2;
	if (const std::size_t room = buffer_.size() - used_;
	    room >= quotes && text.size() <= room - quotes) {
		char *const out = buffer_.data() + used_;
		if (copy_clean(out + 1, text)) {
			out[0] = '"';
			out[text.size() + 1] = '"';
			used_ += text.size() + quotes;
			return;
		}
	}

	put('"');
	for (;;) {
		const std::size_t clean = clean_length(text);
		put(text.substr(0, clean));
		if (clean == text.size())
			break;
		escaped(text[clean]);
		text.remove_prefix(clean + 1);
	}
	put('"');
}

void CanonicalWriter::begin_object() {
	separate();
	put('{');
	separator_due_ = false;
}

void CanonicalWriter::end_object() {
	put('}');
	separator_due_ = true;
}

void CanonicalWriter::begin_array() {
	separate();
	put('[');
	separator_due_ = false;
}

void CanonicalWriter::end_array() {
	put(']');
	separator_due_ = true;
}

void CanonicalWriter::key(std::string_view name) {
	separate();
	quoted(name);
	put(':');
	separator_due_ = false;
}

void CanonicalWriter::string(std::string_view text) {
	separate();
	quoted(text);
}

void CanonicalWriter::number(const Number &number) {
	separate();
	if (number_form_ == NumberForm::Doubles) {
		DoubleGroups groups;
		Number nearest;
		if (through_double(number, groups, nearest)) {
			exact(nearest);
			return;
		}
	}
	exact(number);
}

void CanonicalWriter::exact(const Number &number) {
	if (is_plain(number)) {
		if (buffer_.size() - used_ < most_plain_size)
			flush();
		char *const begin = buffer_.data() + used_;
		used_ += static_cast<std::size_t>(put_plain(begin, number) - begin);
		return;
	}
	const auto pass = [](void *state, const char *bytes, std::size_t count) {
		static_cast<CanonicalWriter *>(state)->put(std::string_view(bytes, count));
	};
	write_number(number, Sink{pass, this});
}

void CanonicalWriter::boolean(bool value) {
	separate();
	put(value ? std::string_view("true") : std::string_view("false"));
}

void CanonicalWriter::null() {
	separate();
	put("null");
}

void CanonicalWriter::canonical(std::string_view json) {
	separate();
	put(json);
}

void CanonicalWriter::verbatim(std::string_view bytes) {
	put(bytes);
	separator_due_ = false;
}

} // namespace pg_idem
