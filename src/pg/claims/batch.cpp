#include "pg/claims/batch.hpp"

extern "C" {
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
}

#include <algorithm>

#include "pg/claims/flush.hpp"
#include "pg/claims/repeat.hpp"

namespace pg_idem {

namespace {

struct Line {
	std::size_t position;
	Request request;
};

// Of what the request points to, only the keys are not the policies' or the caller's.
Request copy_request(const Request &request) {
	Request copy = request;
	auto *older = static_cast<OlderKey *>(palloc(sizeof(OlderKey) * request.older.size() + 1));
	for (std::size_t i = 0; i < request.older.size(); ++i)
		new (&older[i]) OlderKey(request.older[i]);
	copy.older = {older, request.older.size()};
	return copy;
}

[[noreturn]] void raise_bad_line(const Refusal &refusal, std::size_t position) {
	ereport(ERROR, (errcode(refusal.sqlstate), errmsg("%s", refusal.message),
	                errdetail("This is element %zu of the arguments.", position + 1),
	                refusal.hint != nullptr ? errhint("%s", refusal.hint) : 0));
	pg_unreachable();
}

Refusal derive_line(const Call &call, Request &request) {
	if (call.arguments == nullptr)
		return {ERRCODE_NULL_VALUE_NOT_ALLOWED, "arguments are NULL", nullptr};
	const Refusal refusal = derive(call, request);
	// What no line could do right is no fault of this one.
	if (refusal.message != nullptr && request.policy == nullptr)
		raise_refusal(refusal);
	return refusal;
}

// Reads the requests, and tells of those that are refused. In order of their keys.
std::span<Line> read_lines(std::span<const Call> calls, bool report, const BatchReceiver &receiver,
                           MemoryContext scratch) {
	auto *lines = static_cast<Line *>(
		MemoryContextAllocHuge(CurrentMemoryContext, sizeof(Line) * Max(calls.size(), size_t{1})));
	std::size_t count = 0;
	MemoryContext kept = MemoryContextSwitchTo(scratch);
	for (std::size_t position = 0; position < calls.size(); ++position) {
		CHECK_FOR_INTERRUPTS();
		Request request;
		const Refusal refusal = derive_line(calls[position], request);
		if (refusal.message == nullptr) {
			MemoryContextSwitchTo(kept);
			new (&lines[count++]) Line{position, copy_request(request)};
			MemoryContextSwitchTo(scratch);
		} else if (report) {
			receiver.refused(receiver.state, position, refusal);
		} else {
			raise_bad_line(refusal, position);
		}
		MemoryContextReset(scratch);
	}
	MemoryContextSwitchTo(kept);
	std::sort(lines, lines + count, [](const Line &a, const Line &b) {
		return a.request.key != b.request.key ? a.request.key < b.request.key
		                                      : a.position < b.position;
	});
	return {lines, count};
}

} // namespace

void claim_batch(std::span<const Call> calls, const BatchOptions &options,
                 const BatchReceiver &receiver) {
	PreventCommandIfParallelMode("idem_claim_many()");
	begin_claiming();
	forget_call();
	const Ledger ledger = open_ledger(); // first, as in claim()
	MemoryContext scratch =
		AllocSetContextCreate(CurrentMemoryContext, "pg_idem batch", ALLOCSET_DEFAULT_SIZES);
	const std::span<Line> lines = read_lines(calls, options.report, receiver, scratch);
	const Micros start = GetCurrentTimestamp();
	for (Line &line : lines) {
		line.request.lease = options.lease;
		line.request.asked_at = start;
	}
	ClaimOptions each;
	each.lease = options.lease;
	MemoryContext former = MemoryContextSwitchTo(scratch);
	for (const Line &line : lines) {
		CHECK_FOR_INTERRUPTS();
		begin_claiming(); // which writes some of the claims before this one
		each.wait =
			options.wait == 0 ? 0 : Max(options.wait - (GetCurrentTimestamp() - start), Micros{0});
		receiver.answered(receiver.state, line.position, claim_request(ledger, line.request, each));
		MemoryContextReset(scratch);
	}
	MemoryContextSwitchTo(former);
	MemoryContextDelete(scratch);
	close_ledger(ledger);
}

} // namespace pg_idem
