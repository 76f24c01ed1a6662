#include "core/leaves.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <new>

#include "core/arena_list.hpp"

namespace pg_idem {

namespace {

constexpr std::size_t most_index_size = 22; // brackets, 20 digits

// A step of the walk, from the root inwards.
struct Step {
	const Step *outer;
	std::string_view member; // of an object
	std::size_t index;       // of an array
	bool is_index;
};

class Collector {
public:
	Collector(const Document &document, std::span<const Path> left_out, const LeafWalk &walk,
	          const Arena &arena)
		: document_(document), left_out_(left_out), walk_(walk), arena_(arena), leaves_(arena) {}

	std::span<Leaf> collect() {
		collect(document_.root(), Path{}, nullptr, 0, false);
		return leaves_.all();
	}

private:
	struct Visit {
		Collector &self;
		const Path &path;
		const Step *step;
		std::size_t depth;
		bool inside_array;
		std::size_t index = 0;
		bool any_child = false;
		bool any_kept = false;
	};

	void collect(const Value &value, const Path &path, const Step *step, std::size_t depth,
	             bool inside_array) {
		Visit visit{*this, path, step, depth, inside_array};
		const bool object = value.kind == Kind::Object;
		const bool array = value.kind == Kind::Array && walk_.into_arrays;
		if ((object || array) && depth < walk_.depth) {
			document_.visit_children(value, {object ? visit_member : visit_element, &visit});
			if (visit.any_kept || (object && depth == 0))
				return;
		}
		leaves_.add({name_of(step), path, value, object && visit.any_child, inside_array});
	}

	static bool visit_member(void *state, std::string_view name, const Value &member) {
		auto &visit = *static_cast<Visit *>(state);
		visit.any_child = true;
		Path path = visit.path;
		if (!visit.inside_array) {
			path.segments[path.depth++] = name;
			if (visit.self.is_left_out(path))
				return true;
		}
		visit.any_kept = true;
		const Step step{visit.step, name, 0, false};
		visit.self.collect(member, path, &step, visit.depth + 1, visit.inside_array);
		return visit.self.wants_more();
	}

	static bool visit_element(void *state, std::string_view, const Value &element) {
		auto &visit = *static_cast<Visit *>(state);
		visit.any_child = visit.any_kept = true;
		const Step step{visit.step, {}, visit.index++, true};
		visit.self.collect(element, visit.path, &step, visit.depth + 1, true);
		return visit.self.wants_more();
	}

	bool wants_more() const { return leaves_.all().size() <= walk_.most; }

	bool is_left_out(const Path &path) const {
		return std::any_of(left_out_.begin(), left_out_.end(),
		                   [&path](const Path &outer) { return covers(outer, path); });
	}

	std::string_view name_of(const Step *innermost) {
		std::array<const Step *, max_path_depth> steps;
		std::size_t depth = 0, most = 0;
		for (const Step *step = innermost; step != nullptr; step = step->outer) {
			steps[depth++] = step;
			most += step->is_index ? most_index_size : spelt_size(step->member) + 1;
		}
		if (depth == 0)
			return "";
		auto *const text = static_cast<char *>(arena_.allocate(arena_.state, most));
		char *out = text;
		while (depth > 0) {
			const Step &step = *steps[--depth];
			if (step.is_index) {
				*out++ = '[';
				out = std::to_chars(out, text + most, step.index).ptr;
				*out++ = ']';
				continue;
			}
			if (out != text)
				*out++ = '.';
			out = spell_segment(step.member, out);
		}
		return {text, static_cast<std::size_t>(out - text)};
	}

	const Document &document_;
	std::span<const Path> left_out_;
	const LeafWalk &walk_;
	const Arena &arena_;
	ArenaList<Leaf> leaves_;
};

} // namespace

std::span<Leaf> leaves_of(const Document &document, std::span<const Path> left_out,
                          const LeafWalk &walk, const Arena &arena) {
	return Collector(document, left_out, walk, arena).collect();
}

void write_leaf(const Leaf &leaf, const Document &document, std::span<const Path> left_out,
                const Arena &arena, CanonicalWriter &writer) {
	if (leaf.emptied) {
		writer.begin_object();
		writer.end_object();
		return;
	}
	if (leaf.value.kind != Kind::Object || leaf.inside_array) {
		write_value(leaf.value, document, writer);
		return;
	}
	auto *inner = static_cast<Path *>(
		arena.allocate(arena.state, sizeof(Path) * std::max(left_out.size(), std::size_t{1})));
	std::size_t count = 0;
	for (const Path &path : left_out) {
		if (!covers(leaf.path, path))
			continue;
		Path &relative = *new (&inner[count++]) Path;
		relative.depth = static_cast<std::uint8_t>(path.depth - leaf.path.depth);
		std::copy_n(path.segments.begin() + leaf.path.depth, relative.depth,
		            relative.segments.begin());
	}
	document.write(leaf.value, {inner, count}, writer);
}

} // namespace pg_idem
