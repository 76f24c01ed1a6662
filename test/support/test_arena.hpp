// An arena for tests: what it hands out lives as long as it does.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>

#include "core/arena.hpp"

namespace pg_idem::test {

class TestArena {
public:
	TestArena() = default;
	TestArena(const TestArena &) = delete;
	TestArena &operator=(const TestArena &) = delete;

	Arena arena() { return {allocate, this}; }
	std::size_t allocations() const { return blocks_.size(); }

private:
	static void *allocate(void *state, std::size_t size) {
		// Exactly as large as asked for, so that a sanitizer sees a write beyond it.
		auto &blocks = static_cast<TestArena *>(state)->blocks_;
		return blocks.emplace_back(std::make_unique<std::byte[]>(size)).get();
	}

	std::deque<std::unique_ptr<std::byte[]>> blocks_;
};

} // namespace pg_idem::test
