// A jsonb value as the core's Document.
#pragma once

extern "C" {
#include "postgres.h"
#include "utils/jsonb.h"
}

#include "core/document.hpp"

namespace pg_idem {

// Reads the jsonb in place, so it must be detoasted and outlive the document. Walks with an explicit
// stack: any value that the server could store can be read, whatever max_stack_depth is now.
class JsonbDocument final : public Document {
public:
	explicit JsonbDocument(Jsonb *jsonb) : container_(&jsonb->root) {}

	Value root() const override;
	bool find(const Path &path, Value &value) const override;
	void visit_children(const Value &parent, const ChildVisitor &visitor) const override;
	void write(const Value &value, std::span<const Path> excluded,
	           CanonicalWriter &writer) const override;
	bool is_empty_without(const Value &value, std::span<const Path> excluded) const override;

private:
	JsonbContainer *container_;
};

// Raises 0A000 unless the database's encoding is UTF8: canonical bytes are UTF-8, and a string of
// another encoding is not.
void require_utf8();

} // namespace pg_idem
