#include "pg/jsonb/jsonb_document.hpp"

extern "C" {
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
}

#include <algorithm>

#include "core/key_order.hpp"
#include "pg/jsonb/numeric_view.hpp"

namespace pg_idem {

namespace {

// A member of an object, or of the part of one that is written.
struct Member {
	uint64 prefix; // the name's first eight bytes, mapped so that they order as UTF-16 does
	const char *name;
	uint32 length;
	uint32 child;  // index of the value's JEntry
	uint32 offset; // of the value, from the container's data
};

// The excluded paths that agree with where the walk is: a range of the sorted list.
struct Exclusion {
	std::size_t first;
	std::size_t end;
};

struct Frame {
	JsonbContainer *container;
	const char *data;
	uint32 next; // next member (objects) or element (arrays)
	uint32 end;
	uint32 offset;       // arrays: where the next element's value starts
	uint32 first_member; // objects: where this frame's members start in the member stack
	Exclusion exclusion;
};

uint64 order_prefix(const char *name, uint32 length) {
	uint64 prefix = 0;
	const uint32 count = Min(length, 8);
	for (uint32 i = 0; i < count; ++i) {
		auto byte = static_cast<uint8>(name[i]);
		// UTF-16 puts U+E000..U+FFFF (EE, EF) behind all that is beyond the BMP (F0 to F4).
		if (byte >= 0xEE)
			byte = byte >= 0xF0 ? byte - 2 : byte + 5;
		prefix |= static_cast<uint64>(byte) << (56 - 8 * i);
	}
	return prefix;
}

bool member_before(const Member &a, const Member &b) {
	if (a.prefix != b.prefix)
		return a.prefix < b.prefix;
	return key_before({a.name, a.length}, {b.name, b.length});
}

void sort_members(Member *members, uint32 count) {
	if (count > 24) {
		std::sort(members, members + count, member_before);
		return;
	}
	for (uint32 i = 1; i < count; ++i) {
		const Member member = members[i];
		uint32 at = i;
		for (; at > 0 && member_before(member, members[at - 1]); --at)
			members[at] = members[at - 1];
		members[at] = member;
	}
}

const char *data_of(const JsonbContainer *container) {
	const uint32 entries =
		JsonContainerSize(container) * (JsonContainerIsObject(container) ? 2 : 1);
	return reinterpret_cast<const char *>(&container->children[entries]);
}

Value value_at(const char *data, uint32 offset, JEntry entry) {
	Value value;
	if (JBE_ISSTRING(entry)) {
		value.kind = Kind::String;
		value.string = {data + offset, 0}; // the caller knows the length
	} else if (JBE_ISNUMERIC(entry)) {
		value.kind = Kind::Number;
		value.number = view_numeric(reinterpret_cast<const NumericData *>(data + INTALIGN(offset)));
	} else if (JBE_ISBOOL(entry)) {
		value.kind = Kind::Boolean;
		value.boolean = JBE_ISBOOL_TRUE(entry);
	} else if (JBE_ISCONTAINER(entry)) {
		const auto *container = reinterpret_cast<const JsonbContainer *>(data + INTALIGN(offset));
		value.kind = JsonContainerIsObject(container) ? Kind::Object : Kind::Array;
		value.container = container;
	}
	return value;
}

// The value that JEntry `child` describes; `offset` is where it starts.
Value child_value(const JsonbContainer *container, const char *data, uint32 child, uint32 offset) {
	const JEntry entry = container->children[child];
	Value value = value_at(data, offset, entry);
	if (value.kind == Kind::String)
		value.string = {data + offset,
		                JBE_HAS_OFF(entry) ? JBE_OFFLENFLD(entry) - offset : JBE_OFFLENFLD(entry)};
	return value;
}

// The part of `range` whose paths have `name` at `depth`.
Exclusion narrow(std::span<const Path> excluded, Exclusion range, std::size_t depth,
                 std::string_view name) {
	while (range.first < range.end && excluded[range.first].segments[depth] != name)
		++range.first;
	std::size_t end = range.first;
	while (end < range.end && excluded[end].segments[depth] == name)
		++end;
	return {range.first, end};
}

bool ends_at(std::span<const Path> excluded, Exclusion range, std::size_t depth) {
	for (std::size_t i = range.first; i < range.end; ++i)
		if (excluded[i].depth == depth)
			return true;
	return false;
}

// A growing stack in the current memory context, which starts in room on the C stack.
template <typename T, uint32 room>
struct Stack {
	T local[room];
	T *items = local;
	uint32 count = 0;
	uint32 capacity = room;

	void reserve(uint32 more) {
		if (count + more <= capacity)
			return;
		capacity = Max(capacity * 2, count + more);
		const Size size = static_cast<Size>(capacity) * sizeof(T);
		if (items == local) {
			items = static_cast<T *>(MemoryContextAllocHuge(CurrentMemoryContext, size));
			memcpy(items, local, sizeof(T) * count);
		} else {
			items = static_cast<T *>(repalloc_huge(items, size));
		}
	}

	void release() {
		if (items != local)
			pfree(items);
	}
};

class Walk {
public:
	Walk(std::span<const Path> excluded, CanonicalWriter &writer)
		: excluded_(excluded), writer_(writer) {}

	void run(const Value &root) {
		scalar_or_push(root, {0, excluded_.size()});
		while (frames_.count > 0)
			step();
		frames_.release();
		members_.release();
	}

private:
	void scalar_or_push(const Value &value, Exclusion exclusion) {
		switch (value.kind) {
		case Kind::Null: writer_.null(); return;
		case Kind::Boolean: writer_.boolean(value.boolean); return;
		case Kind::Number: writer_.number(value.number); return;
		case Kind::String: writer_.string(value.string); return;
		case Kind::Array:
		case Kind::Object: break;
		}
		CHECK_FOR_INTERRUPTS();
		auto *container =
			const_cast<JsonbContainer *>(static_cast<const JsonbContainer *>(value.container));
		Frame frame{container, data_of(container), 0,        JsonContainerSize(container),
		            0,         members_.count,     exclusion};
		if (value.kind == Kind::Object) {
			collect(frame);
			writer_.begin_object();
		} else {
			writer_.begin_array();
		}
		frames_.reserve(1);
		frames_.items[frames_.count++] = frame;
	}

	// One pass: the names come first in the data, so both offsets run.
	void collect(const Frame &frame) {
		const JsonbContainer *container = frame.container;
		const uint32 size = frame.end;
		members_.reserve(size);
		Member *members = members_.items + members_.count;
		uint32 offset = 0;
		for (uint32 i = 0; i < size; ++i) {
			const JEntry entry = container->children[i];
			const char *name = frame.data + offset;
			const uint32 start = offset;
			JBE_ADVANCE_OFFSET(offset, entry);
			members[i] = {order_prefix(name, offset - start), name, offset - start, size + i, 0};
		}
		for (uint32 i = 0; i < size; ++i) {
			members[i].offset = offset;
			JBE_ADVANCE_OFFSET(offset, container->children[size + i]);
		}
		sort_members(members, size);
		members_.count += size;
	}

	void step() {
		Frame &frame = frames_.items[frames_.count - 1];
		const bool object = JsonContainerIsObject(frame.container);
		if (frame.next == frame.end) {
			if (object)
				writer_.end_object();
			else
				writer_.end_array();
			members_.count = frame.first_member;
			--frames_.count;
			return;
		}
		if (object) {
			const Member &member = members_.items[frame.first_member + frame.next++];
			const std::string_view name{member.name, member.length};
			Exclusion inner{0, 0};
			if (frame.exclusion.first < frame.exclusion.end) {
				const std::size_t depth = frames_.count - 1;
				inner = narrow(excluded_, frame.exclusion, depth, name);
				if (ends_at(excluded_, inner, depth + 1))
					return;
			}
			writer_.key(name);
			scalar_or_push(child_value(frame.container, frame.data, member.child, member.offset),
			               inner);
			return;
		}
		const uint32 child = frame.next++;
		const Value value = child_value(frame.container, frame.data, child, frame.offset);
		JBE_ADVANCE_OFFSET(frame.offset, frame.container->children[child]);
		scalar_or_push(value, {0, 0});
	}

	std::span<const Path> excluded_;
	CanonicalWriter &writer_;
	Stack<Frame, 16> frames_;
	Stack<Member, 64> members_;
};

} // namespace

Value JsonbDocument::root() const {
	if (JsonContainerIsScalar(container_))
		return child_value(container_, data_of(container_), 0, 0);
	Value value;
	value.kind = JsonContainerIsObject(container_) ? Kind::Object : Kind::Array;
	value.container = container_;
	return value;
}

bool JsonbDocument::find(const Path &path, Value &value) const {
	value = root();
	for (std::size_t i = 0; i < path.depth; ++i) {
		if (value.kind != Kind::Object)
			return false;
		JsonbValue found;
		auto *container =
			const_cast<JsonbContainer *>(static_cast<const JsonbContainer *>(value.container));
		if (!getKeyJsonValueFromContainer(container, path.segments[i].data(),
		                                  static_cast<int>(path.segments[i].size()), &found))
			return false;
		value = Value{};
		switch (found.type) {
		case jbvNull: break;
		case jbvBool:
			value.kind = Kind::Boolean;
			value.boolean = found.val.boolean;
			break;
		case jbvNumeric:
			value.kind = Kind::Number;
			value.number = view_numeric(found.val.numeric);
			break;
		case jbvString:
			value.kind = Kind::String;
			value.string = {found.val.string.val, static_cast<std::size_t>(found.val.string.len)};
			break;
		case jbvBinary:
			value.kind = JsonContainerIsObject(found.val.binary.data) ? Kind::Object : Kind::Array;
			value.container = found.val.binary.data;
			break;
		default: elog(ERROR, "unexpected jsonb value type: %d", static_cast<int>(found.type));
		}
	}
	return true;
}

void JsonbDocument::visit_children(const Value &parent, const ChildVisitor &visitor) const {
	const auto *container = static_cast<const JsonbContainer *>(parent.container);
	const char *data = data_of(container);
	const uint32 size = JsonContainerSize(container);
	const bool object = parent.kind == Kind::Object;
	// The names of all members come before their values.
	uint32 name_offset = 0, offset = 0;
	for (uint32 i = 0; object && i < size; ++i)
		JBE_ADVANCE_OFFSET(offset, container->children[i]);
	for (uint32 i = 0; i < size; ++i) {
		std::string_view name;
		if (object) {
			const uint32 start = name_offset;
			JBE_ADVANCE_OFFSET(name_offset, container->children[i]);
			name = {data + start, name_offset - start};
		}
		const uint32 child = object ? size + i : i;
		const Value value = child_value(container, data, child, offset);
		JBE_ADVANCE_OFFSET(offset, container->children[child]);
		CHECK_FOR_INTERRUPTS();
		if (!visitor.visit(visitor.state, name, value))
			return;
	}
}

void JsonbDocument::write(const Value &value, std::span<const Path> excluded,
                          CanonicalWriter &writer) const {
	Walk(excluded, writer).run(value);
}

bool JsonbDocument::is_empty_without(const Value &value, std::span<const Path> excluded) const {
	if (value.kind != Kind::Object)
		return false;
	const auto *container = static_cast<const JsonbContainer *>(value.container);
	const char *data = data_of(container);
	uint32 offset = 0;
	for (uint32 i = 0; i < JsonContainerSize(container); ++i) {
		const uint32 start = offset;
		JBE_ADVANCE_OFFSET(offset, container->children[i]);
		const std::string_view name{data + start, offset - start};
		const Exclusion inner = narrow(excluded, {0, excluded.size()}, 0, name);
		if (!ends_at(excluded, inner, 1))
			return false;
	}
	return true;
}

void require_utf8() {
	if (GetDatabaseEncoding() != PG_UTF8)
		ereport(ERROR,
		        (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		         errmsg("pg_idem needs a database with encoding UTF8"),
		         errdetail("The encoding of this database is %s.", GetDatabaseEncodingName()),
		         errhint("Canonical bytes are UTF-8, whatever client recomputes them.")));
}

} // namespace pg_idem
