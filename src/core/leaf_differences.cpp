#include "core/leaf_differences.hpp"

#include <algorithm>
#include <cstddef>

#include "core/arena_list.hpp"

namespace pg_idem {

namespace {

// What a request has at a path.
enum class Shape : std::uint8_t { Nothing, Other, Object, Array };

struct Entry {
	std::string_view name;
	Shape shape; // of the leaf itself: a container that is a leaf is empty
};

// Where the path that is the first `length` bytes of a name goes on one step: the end of the name, or the
// separator behind the step.
std::size_t next_step(std::string_view name, std::size_t length) {
	bool quoted = false;
	for (std::size_t i = length == 0 ? 0 : length + 1; i < name.size(); ++i) {
		if (name[i] == '"')
			quoted = !quoted;
		else if (!quoted && i > 0 && (name[i] == '.' || name[i] == '['))
			return i;
	}
	return name.size();
}

Shape shape_of_separator(char separator) {
	return separator == '[' ? Shape::Array : Shape::Object;
}

Shape shape_of(Kind kind) {
	switch (kind) {
	case Kind::Object: return Shape::Object;
	case Kind::Array: return Shape::Array;
	default: return Shape::Other;
	}
}

// The paths that a request has, by the names of its leaves.
class Paths {
public:
	explicit Paths(std::span<Entry> entries) : entries_(entries) {
		std::sort(entries_.begin(), entries_.end(),
		          [](const Entry &a, const Entry &b) { return a.name < b.name; });
	}

	Shape shape_at(std::string_view path) const {
		const auto leaf = from(path, {});
		if (leaf != entries_.end() && leaf->name == path)
			return leaf->shape;
		for (const char separator : {'.', '['})
			if (const auto below = from(path, {&separator, 1});
			    below != entries_.end() && below->name.size() > path.size() &&
			    below->name.starts_with(path) && below->name[path.size()] == separator)
				return shape_of_separator(separator);
		return Shape::Nothing;
	}

private:
	// The first name that is not before `path` and `suffix` together.
	std::span<Entry>::iterator from(std::string_view path, std::string_view suffix) const {
		return std::partition_point(entries_.begin(), entries_.end(), [&](const Entry &entry) {
			const int order = entry.name.substr(0, path.size()).compare(path);
			return order < 0 || (order == 0 && entry.name.substr(path.size()) < suffix);
		});
	}

	std::span<Entry> entries_;
};

class Comparison {
public:
	Comparison(const Digest128 &key, const PathNames &names, const Arena &arena)
		: key_(key), names_(names), before_(arena), now_(arena), appeared_(arena), gone_(arena),
		  result_(arena) {}

	std::span<const std::string_view> run(std::span<const LeafDigest> stored,
	                                      std::span<const NamedLeaf> request) {
		match(stored, request);
		const Paths before(before_.all()), now(now_.all());
		for (const std::string_view name : appeared_.all())
			add_outermost(name, before, now);
		for (const std::string_view name : gone_.all())
			add_outermost(name, before, now);
		const std::span<std::string_view> found = result_.all();
		std::sort(found.begin(), found.end());
		std::size_t count = 0;
		for (const std::string_view name : found)
			if (count == 0 || found[count - 1] != name)
				found[count++] = name;
		if (!any_unknown_)
			return found.first(count);
		result_.add({});
		const std::span<std::string_view> all = result_.all();
		all[count] = {};
		return all.first(count + 1);
	}

private:
	// Goes through the digests of both, one path after the other. Two paths can share one.
	void match(std::span<const LeafDigest> stored, std::span<const NamedLeaf> request) {
		for (const NamedLeaf &leaf : request)
			now_.add({leaf.name, shape_of(leaf.kind)});
		std::size_t s = 0, r = 0;
		while (s < stored.size() || r < request.size()) {
			const bool from_stored =
				r == request.size() ||
				(s < stored.size() && stored[s].path <= request[r].digest.path);
			const std::uint32_t path = from_stored ? stored[s].path : request[r].digest.path;
			const std::size_t first_s = s, first_r = r;
			while (s < stored.size() && stored[s].path == path)
				++s;
			while (r < request.size() && request[r].digest.path == path)
				++r;
			match_path(stored.subspan(first_s, s - first_s), request.subspan(first_r, r - first_r));
		}
	}

	void match_path(std::span<const LeafDigest> stored, std::span<const NamedLeaf> request) {
		const auto in_both = [&](std::uint32_t value, auto leaves, auto value_of) {
			return std::any_of(leaves.begin(), leaves.end(),
			                   [&](const auto &leaf) { return value_of(leaf) == value; });
		};
		std::size_t differ = 0;
		for (const NamedLeaf &leaf : request) {
			const bool same = in_both(leaf.digest.value, stored,
			                          [](const LeafDigest &digest) { return digest.value; });
			if (stored.empty()) {
				appeared_.add(leaf.name);
				continue;
			}
			before_.add({leaf.name, shape_of(leaf.kind)});
			if (!same) {
				++differ;
				result_.add(leaf.name); // it changed
			}
		}
		for (const LeafDigest &digest : stored) {
			if (in_both(digest.value, request,
			            [](const NamedLeaf &leaf) { return leaf.digest.value; }))
				continue;
			if (differ > 0)
				--differ; // it is what one of the request has changed from
			else
				add_gone(digest, request);
		}
	}

	void add_gone(const LeafDigest &digest, std::span<const NamedLeaf> request) {
		Shape shape = Shape::Other;
		if (digest.value == value_digest(key_, digest.path, "{}"))
			shape = Shape::Object;
		else if (digest.value == value_digest(key_, digest.path, "[]"))
			shape = Shape::Array;
		bool found = false;
		for (const std::string_view name : names_.find(names_.state, digest.path)) {
			if (std::any_of(request.begin(), request.end(),
			                [name](const NamedLeaf &leaf) { return leaf.name == name; }))
				continue; // another path of the same digest
			before_.add({name, shape});
			gone_.add(name);
			found = true;
		}
		any_unknown_ = any_unknown_ || !found;
	}

	// From the root inwards, to where the two part.
	void add_outermost(std::string_view name, const Paths &before, const Paths &now) {
		for (std::size_t length = 0;;) {
			length = next_step(name, length);
			const std::string_view path = name.substr(0, length);
			const Shape was = before.shape_at(path), is = now.shape_at(path);
			// A field that has no name could have been anywhere.
			const bool parted =
				any_unknown_ && was == Shape::Nothing ? length == name.size() : was != is;
			if (parted || (length == name.size() && is == Shape::Other))
				result_.add(path);
			if (parted || length == name.size())
				return;
		}
	}

	const Digest128 &key_;
	const PathNames &names_;
	ArenaList<Entry> before_, now_;
	ArenaList<std::string_view> appeared_, gone_, result_;
	bool any_unknown_ = false;
};

} // namespace

std::span<const std::string_view> differing_names(const StoredLeaves &stored,
                                                  std::span<const NamedLeaf> request,
                                                  const Digest128 &key, const PathNames &names,
                                                  const Arena &arena) {
	return Comparison(key, names, arena).run(stored.leaves, request);
}

} // namespace pg_idem
