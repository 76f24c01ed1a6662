#include "core/document.hpp"

namespace pg_idem {

void write_value(const Value &value, const Document &document, CanonicalWriter &writer) {
	switch (value.kind) {
	case Kind::Null: writer.null(); break;
	case Kind::Boolean: writer.boolean(value.boolean); break;
	case Kind::Number: writer.number(value.number); break;
	case Kind::String: writer.string(value.string); break;
	case Kind::Array:
		if (value.container == nullptr) {
			writer.canonical(value.string);
			break;
		}
		[[fallthrough]];
	case Kind::Object: document.write(value, {}, writer); break;
	}
}

} // namespace pg_idem
