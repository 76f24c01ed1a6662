// A list that grows in an arena.
#pragma once

#include <cstddef>
#include <new>
#include <span>
#include <type_traits>

#include "core/arena.hpp"

namespace pg_idem {

// Of items that may be copied bit by bit. What it grows out of stays with the arena.
template <typename T>
class ArenaList {
	static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

public:
	// The arena must outlive the list.
	explicit ArenaList(const Arena &arena) : arena_(arena) {}

	void add(const T &item) {
		if (count_ == capacity_)
			grow();
		new (&items_[count_++]) T(item);
	}

	std::span<T> all() const { return {items_, count_}; }

private:
	void grow() {
		constexpr std::size_t first_capacity = 16;
		capacity_ = capacity_ == 0 ? first_capacity : capacity_ * 2;
		auto *grown = static_cast<T *>(arena_.allocate(arena_.state, sizeof(T) * capacity_));
		for (std::size_t i = 0; i < count_; ++i)
			new (&grown[i]) T(items_[i]);
		items_ = grown;
	}

	const Arena &arena_;
	T *items_ = nullptr;
	std::size_t count_ = 0;
	std::size_t capacity_ = 0;
};

} // namespace pg_idem
