#include "pg/claims/pending.hpp"

extern "C" {
#include "access/xact.h"
#include "utils/memutils.h"
}

#include <memory>

#include "pg/storage/key_lock.hpp"

namespace pg_idem {

namespace {

constexpr std::size_t first_bucket_count = 256; // a power of two

struct Link {
	Claim claim; // comes first
	Link *next_in_bucket;
};

// That a claim was made or changed in a sub-transaction: what its end has to look at. By the key, since the claim may be
// gone by then.
struct Touch {
	Digest128 key;
	SubTransactionId subxact;
};

struct List {
	Claim *first;
	Claim *last;
	std::size_t count;
	std::size_t locks;
	Touch *touches; // in order of the sub-transactions, the innermost last
	std::size_t touch_count;
	std::size_t touch_capacity;
	std::size_t bucket_count; // 0: still those of `few`
	Link **buckets;
};

List list;
Link *few[first_bucket_count];

// A key is a digest, so any bytes of it are a hash.
std::size_t hash_of(const Digest128 &key) {
	std::uint32_t hash;
	memcpy(&hash, key.data(), sizeof hash);
	return hash;
}

Link *&bucket_of(const Digest128 &key) {
	if (list.bucket_count == 0)
		return few[hash_of(key) & (first_bucket_count - 1)];
	return list.buckets[hash_of(key) & (list.bucket_count - 1)];
}

// Keeps the buckets short in a transaction of many thousand claims.
void grow_buckets() {
	constexpr std::size_t most_in_bucket = 4;
	const std::size_t count = Max(list.bucket_count, first_bucket_count);
	if (list.count < count * most_in_bucket)
		return;
	list.bucket_count = count * most_in_bucket;
	list.buckets = static_cast<Link **>(
		MemoryContextAllocZero(TopTransactionContext, sizeof(Link *) * list.bucket_count));
	for (Claim *claim = list.first; claim != nullptr; claim = claim->next) {
		auto *link = reinterpret_cast<Link *>(claim);
		Link *&bucket = bucket_of(claim->key);
		link->next_in_bucket = bucket;
		bucket = link;
	}
}

void touch(const Claim &claim) {
	const SubTransactionId current = GetCurrentSubTransactionId();
	if (list.touch_count > 0) {
		const Touch &last = list.touches[list.touch_count - 1];
		if (last.subxact == current && last.key == claim.key)
			return;
	}
	if (list.touch_count == list.touch_capacity) {
		list.touch_capacity = Max(list.touch_capacity * 2, size_t{64});
		const Size size = sizeof(Touch) * list.touch_capacity;
		list.touches = static_cast<Touch *>(
			list.touches == nullptr ? MemoryContextAllocHuge(TopTransactionContext, size)
									: repalloc_huge(list.touches, size));
	}
	new (&list.touches[list.touch_count++]) Touch{claim.key, current};
}

std::string_view copy_text(std::string_view text) {
	if (text.data() == nullptr)
		return text;
	auto *bytes = static_cast<char *>(MemoryContextAlloc(TopTransactionContext, text.size() + 1));
	memcpy(bytes, text.data(), text.size());
	return {bytes, text.size()};
}

Jsonb *copy_jsonb(Jsonb *jsonb) {
	if (jsonb == nullptr)
		return nullptr;
	const Size size = VARSIZE(jsonb);
	auto *copied = static_cast<Jsonb *>(MemoryContextAllocHuge(TopTransactionContext, size));
	memcpy(copied, jsonb, size);
	return copied;
}

std::span<const Digest128> copy_keys(std::span<const Digest128> keys) {
	auto *copies =
		static_cast<Digest128 *>(MemoryContextAlloc(TopTransactionContext, keys.size_bytes()));
	std::uninitialized_copy(keys.begin(), keys.end(), copies);
	return {copies, keys.size()};
}

// Of the names, the texts too: one allocation holds them all.
std::span<const PathName> copy_names(std::span<const PathName> names) {
	if (names.empty())
		return {};
	std::size_t size = sizeof(PathName) * names.size();
	for (const PathName &name : names)
		size += name.path.size();
	auto *copies = static_cast<PathName *>(MemoryContextAlloc(TopTransactionContext, size));
	auto *text = reinterpret_cast<char *>(copies + names.size());
	for (std::size_t i = 0; i < names.size(); ++i) {
		const std::string_view path = names[i].path;
		memcpy(text, path.data(), path.size());
		new (&copies[i]) PathName{names[i].digest, {text, path.size()}};
		text += path.size();
	}
	return {copies, names.size()};
}

KeptRequest copy_kept(const KeptRequest &kept) {
	return {copy_text(kept.leaves), copy_names(kept.names), copy_jsonb(kept.arguments)};
}

void free_kept(const KeptRequest &kept) {
	if (kept.leaves.data() != nullptr)
		pfree(const_cast<char *>(kept.leaves.data()));
	if (kept.names.data() != nullptr)
		pfree(const_cast<PathName *>(kept.names.data()));
	if (kept.arguments != nullptr)
		pfree(kept.arguments);
}

std::size_t lock_count(const Claim &claim) {
	return claim.keys.size() + (claim.has_subject ? 1 : 0);
}

void free_change(Change *change) {
	if (change->effect_ref.data() != nullptr)
		pfree(const_cast<char *>(change->effect_ref.data()));
	if (change->response != nullptr)
		pfree(change->response);
	pfree(change);
}

} // namespace

Claim *find_claim(const Digest128 &key) {
	for (Link *link = bucket_of(key); link != nullptr; link = link->next_in_bucket)
		if (link->claim.key == key)
			return &link->claim;
	return nullptr;
}

Claim *first_claim() {
	return list.first;
}

Claim *last_claim() {
	return list.last;
}

std::size_t claim_count() {
	return list.count;
}

std::size_t claim_lock_count() {
	return list.locks;
}

Claim &add_claim(const NewClaim &fresh) {
	auto *link = static_cast<Link *>(MemoryContextAllocZero(TopTransactionContext, sizeof(Link)));
	Claim &claim = link->claim;
	claim.key = fresh.keys[0];
	claim.policy = fresh.policy;
	claim.tenant = copy_text(fresh.tenant);
	claim.fingerprint = fresh.fingerprint;
	claim.kept = copy_kept(fresh.kept);
	claim.claimed_at = fresh.claimed_at;
	claim.lease_end = fresh.lease_end;
	claim.fence = fresh.fence;
	claim.attempt = fresh.attempt;
	claim.generation = fresh.generation;
	claim.stored = fresh.stored;
	claim.keys = copy_keys(fresh.keys);
	claim.locked = true;
	claim.has_subject = fresh.has_subject;
	claim.subject = fresh.subject;
	list.locks += lock_count(claim);
	claim.subxact = GetCurrentSubTransactionId();
	touch(claim);
	grow_buckets();
	claim.previous = list.last;
	if (list.last != nullptr)
		list.last->next = &claim;
	else
		list.first = &claim;
	list.last = &claim;
	++list.count;
	Link *&bucket = bucket_of(claim.key);
	link->next_in_bucket = bucket;
	bucket = link;
	return claim;
}

void change_claim(Claim &claim, State state, Micros at, std::string_view effect_ref,
                  Jsonb *response, bool response_omitted) {
	auto *change =
		static_cast<Change *>(MemoryContextAllocZero(TopTransactionContext, sizeof(Change)));
	change->state = state;
	change->at = at;
	change->effect_ref = copy_text(effect_ref);
	change->response = copy_jsonb(response);
	change->response_omitted = response_omitted;
	change->subxact = GetCurrentSubTransactionId();
	touch(claim);
	change->former = claim.last;
	claim.last = change;
}

void unlink(Claim &claim) {
	(claim.previous != nullptr ? claim.previous->next : list.first) = claim.next;
	(claim.next != nullptr ? claim.next->previous : list.last) = claim.previous;
}

void mark_effect(Claim &claim) {
	const SubTransactionId current = GetCurrentSubTransactionId();
	if (claim.effect != nullptr && claim.effect->subxact == current)
		return; // one says it
	auto *mark =
		static_cast<EffectMark *>(MemoryContextAlloc(TopTransactionContext, sizeof(EffectMark)));
	*mark = {current, claim.effect};
	claim.effect = mark;
	touch(claim);
}

void mark_written(Claim &claim) {
	// Those that have locks stay at the end of the list, where they are looked for.
	unlink(claim);
	claim.previous = nullptr;
	claim.next = list.first;
	(list.first != nullptr ? list.first->previous : list.last) = &claim;
	list.first = &claim;
	claim.stored = true;
	claim.locked = false;
	list.locks -= lock_count(claim);
}

void unlock_claim(const Claim &claim) {
	for (const Digest128 &key : claim.keys)
		unlock_key(key);
	if (claim.has_subject)
		unlock_key(claim.subject);
}

void remove_claim(Claim &claim) {
	if (claim.locked)
		list.locks -= lock_count(claim);
	for (Change *change = claim.last; change != nullptr;) {
		Change *former = change->former;
		free_change(change);
		change = former;
	}
	unlink(claim);
	--list.count;
	Link **at = &bucket_of(claim.key);
	while (&(*at)->claim != &claim)
		at = &(*at)->next_in_bucket;
	Link *link = *at;
	*at = link->next_in_bucket;
	free_kept(claim.kept);
	pfree(const_cast<char *>(claim.tenant.data()));
	pfree(const_cast<Digest128 *>(claim.keys.data()));
	pfree(link);
}

bool is_of_current_subxact(const Claim &claim) {
	const SubTransactionId current = GetCurrentSubTransactionId();
	if (claim.subxact != current)
		return false;
	for (const Change *change = claim.last; change != nullptr; change = change->former)
		if (change->subxact != current)
			return false;
	return true;
}

void claims_subxact_committed(SubTransactionId subxact, SubTransactionId parent) {
	for (std::size_t i = list.touch_count; i > 0 && list.touches[i - 1].subxact >= subxact; --i) {
		list.touches[i - 1].subxact = parent;
		Claim *claim = find_claim(list.touches[i - 1].key);
		if (claim == nullptr)
			continue;
		if (claim->subxact == subxact)
			claim->subxact = parent;
		for (Change *change = claim->last; change != nullptr && change->subxact == subxact;
		     change = change->former)
			change->subxact = parent;
		if (claim->effect != nullptr && claim->effect->subxact == subxact)
			claim->effect->subxact = parent;
	}
}

void claims_subxact_aborted(SubTransactionId subxact) {
	while (list.touch_count > 0 && list.touches[list.touch_count - 1].subxact >= subxact) {
		Claim *claim = find_claim(list.touches[--list.touch_count].key);
		if (claim == nullptr)
			continue;
		if (claim->subxact == subxact) {
			remove_claim(*claim); // its locks go with the sub-transaction
			continue;
		}
		while (claim->last != nullptr && claim->last->subxact == subxact) {
			Change *undone = claim->last;
			claim->last = undone->former;
			free_change(undone);
		}
		while (claim->effect != nullptr && claim->effect->subxact == subxact) {
			claim->effect = claim->effect->former;
			claim->effect_undone = true;
		}
	}
}

void forget_claims() {
	// Most transactions of most sessions claim nothing.
	if (list.touches == nullptr)
		return;
	list = {};
	memset(few, 0, sizeof few);
}

} // namespace pg_idem
