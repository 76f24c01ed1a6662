#include "core/unicode_form.hpp"

#include <algorithm>
#include <array>

// The C interface alone: what owns something stays inside ICU.
#define U_SHOW_CPLUSPLUS_API 0
#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/ustring.h>
#include <unicode/utf16.h>

#include "core/ascii.hpp"

namespace pg_idem {

namespace {

// Neither form makes a text more than three times as long in UTF-16.
constexpr std::int32_t growth = 3;
constexpr std::int32_t local_units = 128;

bool is_ascii(std::string_view text) {
	return std::all_of(text.begin(), text.end(),
	                   [](char byte) { return static_cast<unsigned char>(byte) < 0x80; });
}

bool is_assigned(const UChar *units, std::int32_t count) {
	for (std::int32_t i = 0; i < count;) {
		UChar32 character;
		U16_NEXT(units, i, count, character);
		if (!u_isdefined(character))
			return false;
	}
	return true;
}

UChar *allocate_units(const Arena &arena, std::int32_t count) {
	return static_cast<UChar *>(
		arena.allocate(arena.state, sizeof(UChar) * static_cast<std::size_t>(count)));
}

std::int32_t to_form(UnicodeForm form, const UChar *units, std::int32_t count, UChar *result,
                     std::int32_t room, UErrorCode &status) {
	if (form == UnicodeForm::Casefold)
		return u_strFoldCase(result, room, units, count, U_FOLD_CASE_DEFAULT, &status);
	const UNormalizer2 *nfc = unorm2_getNFCInstance(&status);
	return U_SUCCESS(status) ? unorm2_normalize(nfc, units, count, result, room, &status) : 0;
}

} // namespace

Problem unicode_form(UnicodeForm form, std::string_view in, Scratch &scratch,
                     std::string_view &out) {
	if (is_ascii(in)) {
		out = in;
		if (form == UnicodeForm::Casefold) {
			char *const copy = scratch.text(in.size());
			std::transform(in.begin(), in.end(), copy, to_lower);
			out = {copy, in.size()};
		}
		return Problem::None;
	}
	if (in.size() > text_limit)
		return Problem::TooLong;

	// UTF-16 has no more units than UTF-8 has bytes.
	const auto size = static_cast<std::int32_t>(in.size());
	std::array<UChar, local_units> local;
	std::array<UChar, growth * local_units> local_result;
	const bool fits = size <= local_units;
	UChar *const units = fits ? local.data() : allocate_units(scratch.arena, size);
	UErrorCode status = U_ZERO_ERROR;
	std::int32_t count = 0;
	u_strFromUTF8(units, size, &count, in.data(), size, &status);
	if (U_FAILURE(status))
		return Problem::IcuFailed;
	if (!is_assigned(units, count))
		return Problem::UnassignedCharacter;

	const std::int32_t room = growth * count;
	UChar *const result = fits ? local_result.data() : allocate_units(scratch.arena, room);
	const std::int32_t result_count = to_form(form, units, count, result, room, status);
	if (U_FAILURE(status))
		return Problem::IcuFailed;

	std::int32_t bytes = 0;
	u_strToUTF8(nullptr, 0, &bytes, result, result_count, &status);
	if (status != U_BUFFER_OVERFLOW_ERROR)
		return Problem::IcuFailed;
	status = U_ZERO_ERROR;
	char *const copy = scratch.text(static_cast<std::size_t>(bytes));
	u_strToUTF8(copy, bytes, nullptr, result, result_count, &status);
	if (U_FAILURE(status))
		return Problem::IcuFailed;
	out = {copy, static_cast<std::size_t>(bytes)};
	return Problem::None;
}

} // namespace pg_idem
