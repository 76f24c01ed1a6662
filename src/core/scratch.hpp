// Room for normalised values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/arena.hpp"

namespace pg_idem {

// On the stack of whoever normalises. Only `arena` must be set; the buffers need no initial value.
struct Scratch {
	static constexpr std::size_t text_size = 256;

	Arena arena;
	std::uint8_t turn = 0;
	std::array<std::array<char, text_size>, 2> texts;
	std::array<std::int16_t, 64> groups;

	// A longer text goes to the arena. Two buffers in turn, so that a step can read what the step
	// before it wrote; the third call voids what the first one gave.
	char *text(std::size_t size) {
		if (size > text_size)
			return static_cast<char *>(arena.allocate(arena.state, size));
		turn ^= 1;
		return texts[turn].data();
	}
};

} // namespace pg_idem
