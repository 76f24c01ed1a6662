#include "core/canonical.hpp"

#include <charconv>
#include <cstdint>
#include <cstring>

namespace pg_idem {

namespace {

// Integers of up to this weight fit 64 bits, sign apart.
constexpr std::int32_t most_integer_weight = 3;
constexpr std::size_t most_integer_size = 17;

constexpr std::uint64_t every_byte(std::uint8_t value) {
	return value * std::uint64_t{0x0101010101010101};
}

// Not zero if and only if a byte of the word is zero.
constexpr std::uint64_t zero_bytes(std::uint64_t word) {
	return (word - every_byte(0x01)) & ~word & every_byte(0x80);
}

constexpr bool must_escape(char byte) {
	return static_cast<unsigned char>(byte) < 0x20 || byte == '"' || byte == '\\';
}

// How many bytes at the start need no escape.
std::size_t clean_length(std::string_view text) {
	std::size_t i = 0;
	for (; i + sizeof(std::uint64_t) <= text.size(); i += sizeof(std::uint64_t)) {
		std::uint64_t word;
		std::memcpy(&word, text.data() + i, sizeof word);
		if ((zero_bytes(word ^ every_byte('"')) | zero_bytes(word ^ every_byte('\\')) |
		     zero_bytes(word & every_byte(0xE0))) != 0)
			break;
	}
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
	if (number.weight < 0 || number.weight > most_integer_weight ||
	    number.group_count > number.weight + 1) {
		const auto pass = [](void *state, const char *bytes, std::size_t count) {
			static_cast<CanonicalWriter *>(state)->put(std::string_view(bytes, count));
		};
		write_number(number, Sink{pass, this});
		return;
	}

	// The usual integer: it has no digits after the point and few before it.
	std::int64_t value = 0;
	for (std::int32_t i = 0; i <= number.weight; ++i)
		value = value * 10000 + (i < number.group_count ? number.groups[i] : 0);
	if (number.negative)
		value = -value;
	if (buffer_.size() - used_ < most_integer_size)
		flush();
	char *const begin = buffer_.data() + used_;
	const char *const end = std::to_chars(begin, begin + most_integer_size, value).ptr;
	used_ += static_cast<std::size_t>(end - begin);
}

void CanonicalWriter::boolean(bool value) {
	separate();
	put(value ? std::string_view("true") : std::string_view("false"));
}

void CanonicalWriter::null() {
	separate();
	put("null");
}

void CanonicalWriter::verbatim(std::string_view bytes) {
	put(bytes);
	separator_due_ = false;
}

} // namespace pg_idem
