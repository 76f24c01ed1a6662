#include "pg/policy/policy.hpp"

extern "C" {
#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "executor/tuptable.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

#include <algorithm>

#include "pg/intervals.hpp"
#include "pg/storage/relations.hpp"

namespace pg_idem {

namespace {

// All policies, in one memory context that a reload replaces as a whole.
struct Cache {
	MemoryContext context;
	uint64 operation_generation; // of the tables it was read from
	uint64 change_generation;
	bool provisional; // read with a snapshot that may be old
	Policy *policies; // in order of operation and version
	std::size_t count;
};

Cache cache;

std::string_view text_in(MemoryContext context, Datum datum) {
	text *value = DatumGetTextPP(datum);
	const std::size_t size = VARSIZE_ANY_EXHDR(value);
	auto *bytes = static_cast<char *>(MemoryContextAlloc(context, size + 1));
	memcpy(bytes, VARDATA_ANY(value), size);
	bytes[size] = '\0';
	return {bytes, size};
}

// What a definition is read with: the newest committed rows and this transaction's own, since a claim
// must use the recipe that is in force, not the one that an old snapshot shows.
Snapshot newest_snapshot() {
	return RegisterSnapshot(IsInParallelMode() ? GetActiveSnapshot() : GetLatestSnapshot());
}

// Calls `visit(values, nulls)` for each row.
template <typename Visit>
void for_each_row(Relation relation, Snapshot snapshot, Visit visit) {
	TableScanDesc scan = table_beginscan(relation, snapshot, 0, nullptr);
	TupleTableSlot *slot = table_slot_create(relation, nullptr);
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot)) {
		slot_getallattrs(slot);
		visit(slot->tts_values, slot->tts_isnull);
	}
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
}

enum OperationColumn {
	op_id,
	op_operation,
	op_version,
	op_identity,
	op_key_fields,
	op_unchecked_fields,
	op_key_prefix,
	op_effect,
	op_retention,
	op_failure_retention,
	op_lease,
	op_retry_after,
	op_max_response_bytes,
	op_defined_at,
	op_unlinked,
	op_retired,
	op_bind,
	op_arguments,
	op_repeat_after,
	op_sending,
	op_on_lost_lease,
	op_provider_window,
	op_max_attempts,
	op_retryable_statuses,
	op_conflict_hint,
	op_exclusive,
};

void read_policy(MemoryContext context, const Datum *values, const bool *nulls, Policy &policy) {
	policy.id = DatumGetInt16(values[op_id]);
	const std::string_view operation = text_in(context, values[op_operation]);
	policy.fault = compile_recipe(
		operation, DatumGetInt32(values[op_version]), text_in(context, values[op_identity]),
		nulls[op_key_fields] ? nullptr : DatumGetJsonbP(values[op_key_fields]),
		DatumGetArrayTypeP(values[op_unchecked_fields]), text_in(context, values[op_bind]),
		nulls[op_exclusive] ? nullptr : DatumGetArrayTypeP(values[op_exclusive]), arena_in(context),
		policy.recipe);
	policy.prefix = text_in(context, values[op_key_prefix]);
	policy.unlinked = DatumGetBool(values[op_unlinked]);
	policy.retired = DatumGetBool(values[op_retired]);
	policy.external = text_in(context, values[op_effect]) == "external";
	policy.retention = interval_micros(DatumGetIntervalP(values[op_retention]));
	policy.failure_retention = interval_micros(DatumGetIntervalP(values[op_failure_retention]));
	policy.lease = interval_micros(DatumGetIntervalP(values[op_lease]));
	policy.retry_after = interval_micros(DatumGetIntervalP(values[op_retry_after]));
	policy.stores_arguments = text_in(context, values[op_arguments]) == "stored";
	policy.repeat_after =
		nulls[op_repeat_after] ? 0 : interval_micros(DatumGetIntervalP(values[op_repeat_after]));
	policy.records_sending = text_in(context, values[op_sending]) == "recorded";
	policy.takes_over = text_in(context, values[op_on_lost_lease]) == "takeover";
	policy.provider_window = nulls[op_provider_window]
	                             ? 0
	                             : interval_micros(DatumGetIntervalP(values[op_provider_window]));
	policy.max_attempts = nulls[op_max_attempts] ? 0 : DatumGetInt32(values[op_max_attempts]);
	policy.max_response_bytes = DatumGetInt32(values[op_max_response_bytes]);
}

struct Change {
	int16 policy;
	Micros at;
	Micros retention;
	Micros failure_retention;
};

// A growing array in the current memory context.
template <typename T>
struct List {
	T *items = nullptr;
	std::size_t count = 0;
	std::size_t capacity = 0;

	T &add() {
		if (count == capacity) {
			capacity = capacity == 0 ? 16 : capacity * 2;
			items = static_cast<T *>(items == nullptr ? palloc(capacity * sizeof(T))
			                                          : repalloc(items, capacity * sizeof(T)));
		}
		return *new (&items[count++]) T{};
	}
};

bool policy_before(const Policy &a, const Policy &b) {
	if (a.recipe.operation != b.recipe.operation)
		return a.recipe.operation < b.recipe.operation;
	return a.recipe.version < b.recipe.version;
}

void attach_changes(MemoryContext context, Policy &policy, const List<Change> &changes) {
	std::size_t count = 0;
	for (std::size_t i = 0; i < changes.count; ++i)
		count += changes.items[i].policy == policy.id;
	if (count == 0)
		return;
	auto *retention = static_cast<RetentionChange *>(
		MemoryContextAlloc(context, sizeof(RetentionChange) * count * 2));
	RetentionChange *failure_retention = retention + count;
	std::size_t filled = 0;
	for (std::size_t i = 0; i < changes.count; ++i) {
		const Change &change = changes.items[i];
		if (change.policy != policy.id)
			continue;
		retention[filled] = {change.at, change.retention};
		failure_retention[filled++] = {change.at, change.failure_retention};
	}
	policy.retention_changes = {retention, count};
	policy.failure_retention_changes = {failure_retention, count};
}

void load() {
	const Oid operation_oid = require_table(Table::Operation),
			  change_oid = require_table(Table::RetentionChange);
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "pg_idem policies", ALLOCSET_SMALL_SIZES);
	MemoryContext former = MemoryContextSwitchTo(context);

	Relation operation = table_open(operation_oid, AccessShareLock);
	Relation change = table_open(change_oid, AccessShareLock);
	// Read after the locks were taken, which is when this session has seen every message so far.
	const uint64 operation_generation = table_generation(Table::Operation),
				 change_generation = table_generation(Table::RetentionChange);
	Snapshot snapshot = newest_snapshot();
	List<Change> changes;
	for_each_row(change, snapshot, [&](const Datum *values, const bool *) {
		changes.add() = {DatumGetInt16(values[0]), DatumGetTimestampTz(values[1]),
		                 interval_micros(DatumGetIntervalP(values[2])),
		                 interval_micros(DatumGetIntervalP(values[3]))};
	});
	if (changes.count > 0)
		std::sort(changes.items, changes.items + changes.count,
		          [](const Change &a, const Change &b) { return a.at < b.at; });
	List<Policy> policies;
	for_each_row(operation, snapshot, [&](const Datum *values, const bool *nulls) {
		Policy &policy = policies.add();
		read_policy(context, values, nulls, policy);
		attach_changes(context, policy, changes);
	});
	UnregisterSnapshot(snapshot);
	table_close(change, AccessShareLock);
	table_close(operation, AccessShareLock);
	if (policies.count > 0)
		std::sort(policies.items, policies.items + policies.count, policy_before);

	MemoryContextSwitchTo(former);
	MemoryContextSetParent(context, CacheMemoryContext);
	// Claims of this transaction may still point into the former one.
	if (cache.context != nullptr)
		MemoryContextSetParent(cache.context, TopTransactionContext);
	cache = {context,        operation_generation, change_generation, IsInParallelMode(),
	         policies.items, policies.count};
}

void refresh() {
	// In parallel mode only the active snapshot can be used, which may be older than a definition.
	const bool outdated = cache.provisional && !IsInParallelMode();
	if (cache.context == nullptr || outdated ||
	    cache.operation_generation != table_generation(Table::Operation) ||
	    cache.change_generation != table_generation(Table::RetentionChange))
		load();
}

} // namespace

FoundPolicy find_policy(std::string_view operation, int32 version) {
	refresh();
	// The last one that is not behind what is sought.
	std::size_t low = 0, high = cache.count;
	while (low < high) {
		const std::size_t middle = (low + high) / 2;
		const Recipe &recipe = cache.policies[middle].recipe;
		const int order = recipe.operation.compare(operation);
		if (order < 0 || (order == 0 && (version == 0 || recipe.version <= version)))
			low = middle + 1;
		else
			high = middle;
	}
	const auto is_ours = [&](std::size_t at) {
		return cache.policies[at].recipe.operation == operation;
	};
	while (version == 0 && low > 1 && is_ours(low - 1) && cache.policies[low - 1].retired &&
	       is_ours(low - 2))
		--low;
	if (low == 0 || !is_ours(low - 1) ||
	    (version != 0 && cache.policies[low - 1].recipe.version != version))
		return {};
	const std::size_t found = low - 1;
	std::size_t first = found;
	while (first > 0 && is_ours(first - 1) && !cache.policies[first].unlinked)
		--first;
	std::size_t end = found + 1;
	while (end < cache.count && is_ours(end) && !cache.policies[end].unlinked)
		++end;
	return {&cache.policies[found],
	        {&cache.policies[first], found - first},
	        {&cache.policies[found] + 1, end - found - 1}};
}

const Policy *find_policy_by_id(int16 id) {
	refresh();
	for (std::size_t i = 0; i < cache.count; ++i)
		if (cache.policies[i].id == id)
			return &cache.policies[i];
	return nullptr;
}

std::span<const Policy> all_policies() {
	refresh();
	return {cache.policies, cache.count};
}

} // namespace pg_idem
