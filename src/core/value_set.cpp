#include "core/value_set.hpp"

#include <algorithm>
#include <cstddef>
#include <new>
#include <string_view>

#include "core/key_order.hpp"

namespace pg_idem {

namespace {

// The elements' canonical texts, one after the other. Gathered twice: to learn how much room they
// need, and into it.
struct Elements {
	const Document &document;
	std::size_t count = 0;
	std::size_t bytes = 0;
	char *text = nullptr; // NULL: only counted
	std::string_view *items = nullptr;

	static void append(void *state, const char *bytes, std::size_t size) {
		auto &self = *static_cast<Elements *>(state);
		if (self.text != nullptr)
			std::copy_n(bytes, size, self.text + self.bytes);
		self.bytes += size;
	}

	static bool add(void *state, std::string_view, const Value &element) {
		auto &self = *static_cast<Elements *>(state);
		const std::size_t begin = self.bytes;
		CanonicalWriter writer(Sink{append, state});
		write_value(element, self.document, writer);
		writer.flush();
		if (self.items != nullptr)
			new (&self.items[self.count]) std::string_view(self.text + begin, self.bytes - begin);
		++self.count;
		return self.bytes <= set_limit;
	}

	void gather(const Value &array) {
		count = 0;
		bytes = 0;
		document.visit_children(array, ChildVisitor{add, this});
	}
};

} // namespace

Problem normalise_set(const Value &in, const Document &document, Scratch &scratch, Value &out) {
	if (in.kind != Kind::Array)
		return Problem::NotArray;
	if (in.container == nullptr) {
		out = in; // a set already
		return Problem::None;
	}
	Elements elements{document};
	elements.gather(in);
	// Each element with a comma or a bracket after it, and a bracket before them all.
	const std::size_t size = elements.bytes + elements.count + 1;
	if (size > set_limit)
		return Problem::TooLong;

	const Arena &arena = scratch.arena;
	elements.text = scratch.text(elements.bytes);
	elements.items = static_cast<std::string_view *>(arena.allocate(
		arena.state, sizeof(std::string_view) * std::max(elements.count, size_t{1})));
	elements.gather(in);
	std::string_view *const end = elements.items + elements.count;
	std::sort(elements.items, end, key_before);
	std::string_view *const last = std::unique(elements.items, end);

	char *const text = scratch.text(size + 1);
	char *at = text;
	*at++ = '[';
	for (const std::string_view *item = elements.items; item != last; ++item) {
		if (item != elements.items)
			*at++ = ',';
		at = std::copy(item->begin(), item->end(), at);
	}
	*at++ = ']';
	out = Value{};
	out.kind = Kind::Array;
	out.string = {text, static_cast<std::size_t>(at - text)};
	return Problem::None;
}

} // namespace pg_idem
