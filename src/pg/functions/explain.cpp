// idem_explain_key: what a key is made of, field by field, for the person who approves a policy.

extern "C" {
#include "postgres.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"
}

#include <algorithm>

#include "core/key_text.hpp"
#include "pg/claims/request.hpp"
#include "pg/functions/arguments.hpp"
#include "pg/jsonb/jsonb_document.hpp"
#include "pg/jsonb/text_sink.hpp"

// PostgreSQL has a Path of its own.
namespace pg_idem {

namespace {

// NULL pointers are NULL columns.
struct Row {
	const char *path = nullptr;
	const char *role = nullptr;
	const char *type = nullptr;
	text *normalised = nullptr;
	const char *note = nullptr;
};

class Rows {
public:
	explicit Rows(FunctionCallInfo fcinfo) {
		InitMaterializedSRF(fcinfo, 0);
		result_ = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
	}

	void put(const Row &row) {
		const auto datum = [](const char *value) {
			return value == nullptr ? Datum{0} : CStringGetTextDatum(value);
		};
		Datum values[] = {datum(row.path), datum(row.role), datum(row.type),
		                  PointerGetDatum(row.normalised), datum(row.note)};
		bool nulls[] = {row.path == nullptr, row.role == nullptr, row.type == nullptr,
		                row.normalised == nullptr, row.note == nullptr};
		tuplestore_putvalues(result_->setResult, result_->setDesc, values, nulls);
	}

private:
	ReturnSetInfo *result_;
};

const char *c_string(std::string_view text) {
	return pnstrdup(text.data(), text.size());
}

const char *path_text(const Path &path) {
	return c_string(spell_path(path, arena_in(CurrentMemoryContext)));
}

const char *type_name(Kind kind) {
	switch (kind) {
	case Kind::Null: return "null";
	case Kind::Boolean: return "boolean";
	case Kind::Number: return "number";
	case Kind::String: return "string";
	case Kind::Array: return "array";
	case Kind::Object: return "object";
	}
	return nullptr;
}

text *canonical_text(const Value &value, const JsonbDocument &document) {
	TextSink sink;
	CanonicalWriter writer(sink.sink());
	write_value(value, document, writer);
	writer.flush();
	return sink.finish();
}

// A value that no object on its way to the root can be named instead of.
struct Leaf {
	Path path;
	Value value;
	bool emptied; // an object all of whose members are left out
};

// The leaves of the arguments, less what `left_out` covers. An object that is nested deeper than a path
// can reach is a leaf.
class Leaves {
public:
	Leaves(const JsonbDocument &document, std::span<const Path> left_out)
		: document_(document), left_out_(left_out) {}

	void collect() {
		collect(document_.root(), Path{});
		std::sort(items_, items_ + count_,
		          [](const Leaf &a, const Leaf &b) { return path_before(a.path, b.path); });
	}

	std::span<const Leaf> all() const { return {items_, count_}; }

private:
	struct Visit {
		Leaves &self;
		const Path &parent;
		bool any_member = false;
		bool any_kept = false;
	};

	void collect(const Value &value, const Path &path) {
		Visit visit{*this, path};
		if (value.kind == Kind::Object && path.depth < max_path_depth) {
			document_.visit_children(value, ChildVisitor{visit_member, &visit});
			if (visit.any_kept || (path.depth == 0 && visit.any_member))
				return;
		}
		// The arguments {} bind nothing.
		if (value.kind != Kind::Object || path.depth > 0)
			add(Leaf{path, value, visit.any_member});
	}

	static bool visit_member(void *state, std::string_view name, const Value &member) {
		auto &visit = *static_cast<Visit *>(state);
		Path path = visit.parent;
		path.segments[path.depth++] = name;
		visit.any_member = true;
		if (!visit.self.is_left_out(path)) {
			visit.any_kept = true;
			visit.self.collect(member, path);
		}
		return true;
	}

	bool is_left_out(const Path &path) const {
		return std::any_of(left_out_.begin(), left_out_.end(),
		                   [&path](const Path &outer) { return covers(outer, path); });
	}

	void add(const Leaf &leaf) {
		if (count_ == capacity_) {
			capacity_ = Max(capacity_ * 2, 16);
			const Size size = sizeof(Leaf) * capacity_;
			items_ = static_cast<Leaf *>(items_ == nullptr ? palloc_extended(size, MCXT_ALLOC_HUGE)
			                                               : repalloc_huge(items_, size));
		}
		new (&items_[count_++]) Leaf(leaf);
	}

	const JsonbDocument &document_;
	std::span<const Path> left_out_;
	Leaf *items_ = nullptr;
	std::size_t count_ = 0;
	std::size_t capacity_ = 0;
};

void put_key_fields(const Recipe &recipe, const JsonbDocument &document, Rows &rows) {
	Scratch scratch; // its buffers need no initial value
	scratch.arena = arena_in(CurrentMemoryContext);
	for (const KeyField &field : recipe.fields) {
		FieldValue value;
		const Problem problem = read_field(field, document, scratch, value);
		Row row{c_string(field.name), "key"};
		if (value.present)
			row.type = type_name(value.found.kind);
		if (problem != Problem::None)
			row.note = describe(problem);
		else if (!value.present)
			row.note = "is absent, as an optional field may be";
		else
			row.normalised = canonical_text(value.normal, document);
		rows.put(row);
	}
}

void put_leaves(const JsonbDocument &document, std::span<const Path> left_out, const char *role,
                Rows &rows) {
	Leaves leaves(document, left_out);
	leaves.collect();
	for (const Leaf &leaf : leaves.all()) {
		CHECK_FOR_INTERRUPTS();
		Row row{path_text(leaf.path), role, type_name(leaf.value.kind)};
		if (leaf.emptied) {
			row.normalised = cstring_to_text("{}");
			row.note = "has members in the key or unchecked only, but must stay an object";
		} else {
			row.normalised = canonical_text(leaf.value, document);
		}
		rows.put(row);
	}
}

void put_unchecked(const Recipe &recipe, const JsonbDocument &document, Rows &rows) {
	for (const Path &path : recipe.unchecked) {
		Row row{path_text(path), "unchecked"};
		Value value;
		if (document.find(path, value))
			row.type = type_name(value.kind);
		else
			row.note = "is absent";
		rows.put(row);
	}
}

text *preimage_text(const Request &request, const JsonbDocument &document) {
	Arena arena = arena_in(CurrentMemoryContext);
	TextSink sink;
	CanonicalWriter writer(sink.sink());
	write_preimage(request.policy->recipe, request.call.tenant, request.call.occurrence, document,
	               arena, writer);
	writer.flush();
	return sink.finish();
}

text *key_text(const Request &request) {
	const std::string_view prefix = request.policy->prefix;
	const auto suffix = key_suffix(request.key);
	return cstring_to_text(psprintf("%.*s%.*s", static_cast<int>(prefix.size()), prefix.data(),
	                                static_cast<int>(suffix.size()), suffix.data()));
}

void explain(FunctionCallInfo fcinfo) {
	const Call call = call_argument(fcinfo, 3, 4);
	Request request;
	const Refusal refusal = derive(call, request);
	if (request.policy == nullptr)
		raise_refusal(refusal);

	const Recipe &recipe = request.policy->recipe;
	const JsonbDocument document(call.arguments);
	Rows rows(fcinfo);
	if (recipe.identity == Identity::Fields)
		put_key_fields(recipe, document, rows);
	put_leaves(document, not_bound(recipe),
	           recipe.identity == Identity::Arguments ? "key" : "bound", rows);
	put_unchecked(recipe, document, rows);

	Row preimage{nullptr, "preimage"}, key{nullptr, "key"};
	if (refusal.message != nullptr) {
		preimage.note = key.note = refusal.message;
	} else {
		preimage.normalised = preimage_text(request, document);
		key.normalised = key_text(request);
	}
	rows.put(preimage);
	rows.put(key);
}

} // namespace

} // namespace pg_idem

extern "C" {

PG_FUNCTION_INFO_V1(pg_idem_explain_key);

Datum pg_idem_explain_key(PG_FUNCTION_ARGS) {
	pg_idem::explain(fcinfo);
	return Datum{0};
}
}
