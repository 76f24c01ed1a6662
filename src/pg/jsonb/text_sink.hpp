// A sink that builds a text value.
#pragma once

extern "C" {
#include "postgres.h"
#include "utils/memutils.h"
}

#include "core/sink.hpp"

namespace pg_idem {

// Grows in the current memory context. Raises 54000 when the text would pass what a value can hold:
// escapes can make a canonical text six times as long as the jsonb.
class TextSink {
public:
	Sink sink() { return {append, this}; }

	// The text, whose memory the caller now owns. Call once, when everything was written.
	text *finish() {
		if (buffer_ == nullptr)
			reserve(0);
		SET_VARSIZE(buffer_, used_);
		return reinterpret_cast<text *>(buffer_);
	}

private:
	static void append(void *state, const char *bytes, std::size_t count) {
		auto *self = static_cast<TextSink *>(state);
		self->reserve(count);
		memcpy(self->buffer_ + self->used_, bytes, count);
		self->used_ += count;
	}

	void reserve(std::size_t more) {
		if (used_ + more <= capacity_)
			return;
		if (used_ + more > MaxAllocSize)
			ereport(ERROR,
			        (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("canonical text is too long"),
			         errdetail("A text value holds at most %zu bytes.", MaxAllocSize),
			         errhint("idem_digest has no such limit.")));
		capacity_ = Min(Max(capacity_ * 2, used_ + more + 256), MaxAllocSize);
		buffer_ = static_cast<char *>(buffer_ == nullptr ? palloc(capacity_)
		                                                 : repalloc(buffer_, capacity_));
	}

	char *buffer_ = nullptr;
	std::size_t used_ = VARHDRSZ;
	std::size_t capacity_ = 0;
};

} // namespace pg_idem
