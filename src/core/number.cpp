#include "core/number.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "core/number_digits.hpp"

namespace pg_idem {

namespace {

// ECMAScript's Number::toString: plain notation for a point in -5..21, counted from the first digit.
constexpr std::int64_t most_integer_digits = 21;
constexpr std::int64_t most_leading_zeros = 5;

// Gathers pieces, so that a number of usual length reaches the sink in one call.
class Text {
public:
	explicit Text(const Sink &sink) : sink_(sink) {}

	void put(const char *bytes, std::size_t count) {
		if (count > buffer_.size() - used_)
			flush();
		std::memcpy(buffer_.data() + used_, bytes, count);
		used_ += count;
	}

	void put(char byte) { put(&byte, 1); }

	void flush() {
		sink_.write(sink_.state, buffer_.data(), used_);
		used_ = 0;
	}

private:
	const Sink &sink_;
	std::size_t used_ = 0;
	std::array<char, 320> buffer_;
};

constexpr std::int32_t chunk_groups = 64; // fits an empty Text

void put_zeros(Text &text, std::int64_t count) {
	for (; count > 0; --count)
		text.put('0');
}

// All digits, with a decimal point after the first `point` of them if more follow.
void put_digits(Text &text, const Digits &digits, std::int64_t point) {
	std::array<char, chunk_groups * digits_per_group> chunk;
	std::int64_t done = 0;
	for (std::int32_t first = 0; first < digits.group_count; first += chunk_groups) {
		const std::int32_t groups = std::min(chunk_groups, digits.group_count - first);
		for (std::int32_t i = 0; i < groups; ++i)
			put_group(chunk.data() + i * digits_per_group, digits.groups[first + i]);

		const char *bytes = chunk.data() + (first == 0 ? digits.leading : 0);
		std::int64_t count = chunk.data() + groups * digits_per_group - bytes;
		count = std::min(count, digits.count - done);
		if (point < digits.count && point >= done && point < done + count) {
			const std::int64_t before = point - done;
			text.put(bytes, static_cast<std::size_t>(before));
			text.put('.');
			text.put(bytes + before, static_cast<std::size_t>(count - before));
		} else {
			text.put(bytes, static_cast<std::size_t>(count));
		}
		done += count;
	}
}

void put_exponent(Text &text, std::int64_t exponent) {
	text.put('e');
	text.put(exponent < 0 ? '-' : '+');
	std::array<char, 20> digits;
	const auto end = std::to_chars(digits.data(), digits.data() + digits.size(),
	                               exponent < 0 ? -exponent : exponent);
	text.put(digits.data(), static_cast<std::size_t>(end.ptr - digits.data()));
}

} // namespace

void put_group(char *out, std::int16_t group) {
	const int high = group / 100;
	const int low = group % 100;
	out[0] = static_cast<char>('0' + high / 10);
	out[1] = static_cast<char>('0' + high % 10);
	out[2] = static_cast<char>('0' + low / 10);
	out[3] = static_cast<char>('0' + low % 10);
}

Digits digits_of(const Number &number) {
	Digits digits{number.groups, number.group_count, 0, 0, 0};
	std::int64_t weight = number.weight;
	while (digits.group_count > 0 && digits.groups[0] == 0) {
		++digits.groups;
		--digits.group_count;
		--weight;
	}
	if (digits.group_count == 0)
		return digits;
	while (digits.groups[digits.group_count - 1] == 0)
		--digits.group_count;

	const int first = digits.groups[0];
	digits.leading = first >= 1000 ? 0 : first >= 100 ? 1 : first >= 10 ? 2 : 3;
	std::int32_t trailing = 0;
	for (int last = digits.groups[digits.group_count - 1]; last % 10 == 0; last /= 10)
		++trailing;
	digits.count = std::int64_t{digits.group_count} * digits_per_group - digits.leading - trailing;
	digits.point = (weight + 1) * digits_per_group - digits.leading;
	return digits;
}

char *put_plain(char *out, const Number &number) {
	if (number.negative)
		*out++ = '-';
	std::int64_t integer = 0;
	std::int32_t i = 0;
	for (; i <= number.weight; ++i)
		integer = integer * 10000 + (i < number.group_count ? number.groups[i] : 0);
	out = std::to_chars(out, out + most_plain_groups * digits_per_group, integer).ptr;

	std::int32_t end = number.group_count;
	while (end > i && number.groups[end - 1] == 0)
		--end;
	if (i >= end)
		return out;
	*out++ = '.';
	for (; i < end; ++i, out += digits_per_group)
		put_group(out, number.groups[i]);
	while (out[-1] == '0')
		--out;
	return out;
}

void write_number(const Number &number, const Sink &sink) {
	const Digits digits = digits_of(number);
	if (digits.count == 0) {
		sink.write(sink.state, "0", 1);
		return;
	}

	Text text(sink);
	if (number.negative)
		text.put('-');
	if (digits.point > 0 && digits.point <= most_integer_digits) {
		put_digits(text, digits, digits.point);
		put_zeros(text, digits.point - digits.count);
	} else if (digits.point <= 0 && digits.point >= -most_leading_zeros) {
		text.put("0.", 2);
		put_zeros(text, -digits.point);
		put_digits(text, digits, digits.count);
	} else {
		put_digits(text, digits, 1);
		put_exponent(text, digits.point - 1);
	}
	text.flush();
}

} // namespace pg_idem
