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

#include "core/leaves.hpp"
#include "pg/claims/answer.hpp"
#include "pg/claims/request.hpp"
#include "pg/functions/arguments.hpp"
#include "pg/jsonb/jsonb_document.hpp"
#include "pg/jsonb/text_sink.hpp"

// PostgreSQL has a Path of its own.
namespace pg_idem {

namespace {

// NULL pointers are NULL columns.
struct FieldRow {
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

	void put(const FieldRow &row) {
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

template <typename Write>
text *canonical_text(Write write) {
	TextSink sink;
	CanonicalWriter writer(sink.sink());
	write(writer);
	writer.flush();
	return sink.finish();
}

void put_key_fields(const Recipe &recipe, const JsonbDocument &document, Rows &rows) {
	Scratch scratch; // its buffers need no initial value
	scratch.arena = arena_in(CurrentMemoryContext);
	for (const KeyField &field : recipe.fields) {
		FieldValue value;
		const Problem problem = read_field(field, document, scratch, value);
		FieldRow row{c_string(field.name), "key"};
		if (value.present)
			row.type = type_name(value.found.kind);
		if (problem != Problem::None)
			row.note = describe(problem);
		else if (!value.present)
			row.note = "is absent, as an optional field may be";
		else
			row.normalised = canonical_text(
				[&](CanonicalWriter &writer) { write_value(value.normal, document, writer); });
		rows.put(row);
	}
}

void put_leaves(const Recipe &recipe, const JsonbDocument &document, Rows &rows) {
	const Arena arena = arena_in(CurrentMemoryContext);
	const std::span<const Path> left_out = not_bound(recipe);
	const bool in_key = recipe.identity == Identity::Arguments;
	const bool checked = in_key || recipe.binds;
	const std::span<Leaf> leaves = leaves_of(document, left_out, LeafWalk{}, arena);
	std::sort(leaves.begin(), leaves.end(),
	          [](const Leaf &a, const Leaf &b) { return path_before(a.path, b.path); });
	for (const Leaf &leaf : leaves) {
		CHECK_FOR_INTERRUPTS();
		FieldRow row{c_string(leaf.name),
		             in_key    ? "key"
		             : checked ? "bound"
		                       : "unchecked",
		             type_name(leaf.value.kind)};
		if (checked)
			row.normalised = canonical_text([&](CanonicalWriter &writer) {
				write_leaf(leaf, document, left_out, arena, writer);
			});
		if (checked && leaf.emptied)
			row.note = "has members in the key or unchecked only, but must stay an object";
		rows.put(row);
	}
}

void put_unchecked(const Recipe &recipe, const JsonbDocument &document, Rows &rows) {
	for (const Path &path : recipe.unchecked) {
		FieldRow row{path_text(path), "unchecked"};
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
	return canonical_text([&](CanonicalWriter &writer) {
		write_preimage(request.policy->recipe, request.call.tenant, request.call.occurrence,
		               document, arena, writer);
	});
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
	put_leaves(recipe, document, rows);
	put_unchecked(recipe, document, rows);

	FieldRow preimage{nullptr, "preimage"}, key{nullptr, "key"};
	if (refusal.message != nullptr) {
		preimage.note = key.note = refusal.message;
	} else {
		preimage.normalised = preimage_text(request, document);
		key.normalised = key_text(request.policy->prefix, request.key, 1);
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
