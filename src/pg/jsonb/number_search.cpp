#include "pg/jsonb/number_search.hpp"

extern "C" {
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
}

#include <string_view>

#include "core/white_space.hpp"
#include "pg/jsonb/numeric_view.hpp"

namespace pg_idem {

namespace {

// A container that the walk is inside of, and the member or element that it has come to.
struct Step {
	bool object;
	std::string_view name;
	int64 index;
};

// The containers around the present token, outermost first.
struct Steps {
	Step *items = nullptr;
	uint32 count = 0;
	uint32 capacity = 0;

	void push(bool object) {
		if (count == capacity) {
			capacity = Max(capacity * 2, 16);
			const Size size = capacity * sizeof(Step);
			items = static_cast<Step *>(items == nullptr ? palloc(size) : repalloc(items, size));
		}
		items[count++] = {object, {}, -1};
	}

	Step *top() { return count == 0 ? nullptr : &items[count - 1]; }

	// An element, or a container that is one, has begun.
	void next_element() {
		if (Step *step = top(); step != nullptr && !step->object)
			++step->index;
	}
};

bool needs_quotes(std::string_view name) {
	if (name.empty() || name.find_first_of(".\"()|[]") != std::string_view::npos)
		return true;
	for (std::size_t i = 0; i < name.size(); ++i)
		if (white_space_size(name.substr(i)) > 0)
			return true;
	return false;
}

void append_name(StringInfo path, std::string_view name) {
	if (path->len > 0)
		appendStringInfoChar(path, '.');
	if (!needs_quotes(name)) {
		appendBinaryStringInfo(path, name.data(), static_cast<int>(name.size()));
		return;
	}
	appendStringInfoChar(path, '"');
	for (const char byte : name) {
		if (byte == '"')
			appendStringInfoChar(path, '"');
		appendStringInfoChar(path, byte);
	}
	appendStringInfoChar(path, '"');
}

// At most about 200 bytes of it: both ends say more than the middle.
const char *quoted(const StringInfoData &path) {
	constexpr int half = 100;
	if (path.len <= 2 * half)
		return psprintf("\"%s\"", path.data);
	const int head = pg_mbcliplen(path.data, path.len, half);
	int tail = path.len - half;
	while ((static_cast<unsigned char>(path.data[tail]) & 0xC0) == 0x80)
		++tail;
	return psprintf("\"%.*s...%s\"", head, path.data, path.data + tail);
}

const char *path_of(const Steps &steps) {
	StringInfoData path;
	initStringInfo(&path);
	for (uint32 i = 0; i < steps.count; ++i) {
		const Step &step = steps.items[i];
		if (step.object)
			append_name(&path, step.name);
		else
			appendStringInfo(&path, "[" INT64_FORMAT "]", step.index);
	}
	return steps.count == 0 ? "the top level" : quoted(path);
}

} // namespace

const char *find_number(Jsonb *jsonb, bool (*wanted)(const Number &number)) {
	Steps steps;
	JsonbIterator *iterator = JsonbIteratorInit(&jsonb->root);
	JsonbValue value;
	for (;;) {
		switch (JsonbIteratorNext(&iterator, &value, false)) {
		case WJB_DONE: return nullptr;
		case WJB_BEGIN_ARRAY:
			CHECK_FOR_INTERRUPTS();
			// jsonb keeps a scalar as an array of one, which is not part of any path.
			steps.next_element();
			if (!value.val.array.rawScalar)
				steps.push(false);
			continue;
		case WJB_BEGIN_OBJECT:
			CHECK_FOR_INTERRUPTS();
			steps.next_element();
			steps.push(true);
			continue;
		case WJB_END_ARRAY:
		case WJB_END_OBJECT:
			if (steps.count > 0)
				--steps.count;
			continue;
		case WJB_KEY:
			steps.top()->name = {value.val.string.val,
			                     static_cast<std::size_t>(value.val.string.len)};
			continue;
		case WJB_ELEM: steps.next_element(); break;
		case WJB_VALUE: break;
		}
		if (value.type == jbvNumeric && wanted(view_numeric(value.val.numeric)))
			return path_of(steps);
	}
}

} // namespace pg_idem
