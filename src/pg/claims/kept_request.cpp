#include "pg/claims/kept_request.hpp"

#include "core/leaf_differences.hpp"
#include "core/leaf_digests.hpp"
#include "pg/jsonb/jsonb_document.hpp"
#include "pg/policy/definition.hpp"

namespace pg_idem {

namespace {

std::span<const PathName> new_names(const Policy &policy, std::span<const NamedLeaf> leaves) {
	PathName *names = nullptr;
	std::size_t count = 0;
	for (const NamedLeaf &leaf : leaves) {
		if (has_path_name(policy.id, leaf.digest.path))
			continue;
		if (names == nullptr)
			names = static_cast<PathName *>(palloc(sizeof(PathName) * leaves.size()));
		new (&names[count++]) PathName{leaf.digest.path, leaf.name};
	}
	return {names, count};
}

// The stored side of a comparison.
struct Stored {
	StoredLeaves leaves;
	std::span<const NamedLeaf> named; // when the arguments are there themselves
};

bool read_stored(const StoredRequest &request, const Arena &arena, Stored &stored) {
	const Recipe &recipe = request.policy->recipe;
	if (request.kept.arguments != nullptr) {
		stored.leaves.form.with_key = true;
		stored.named = digest_leaves(recipe, JsonbDocument(request.kept.arguments),
		                             stored.leaves.form, request.key, arena);
		auto *digests = static_cast<LeafDigest *>(
			palloc(sizeof(LeafDigest) * Max(stored.named.size(), size_t{1})));
		for (std::size_t i = 0; i < stored.named.size(); ++i)
			new (&digests[i]) LeafDigest(stored.named[i].digest);
		stored.leaves.leaves = {digests, stored.named.size()};
		return true;
	}
	if (decode_leaves(request.kept.leaves, arena, stored.leaves))
		return true;
	// It bound nothing, so that whatever is bound now is new.
	return request.kept.leaves.empty() && !request.has_fingerprint &&
	       recipe.identity != Identity::Arguments;
}

// Where the names of a stored request are to be found.
struct Dictionary {
	const StoredRequest &request;
	const Stored &stored;
};

std::span<const std::string_view> find_names(void *state, std::uint32_t path) {
	const auto &[request, stored] = *static_cast<const Dictionary *>(state);
	const KeptRequest &kept = request.kept;
	auto *names = static_cast<std::string_view *>(
		palloc(sizeof(std::string_view) * Max(stored.named.size() + kept.names.size(), size_t{1})));
	std::size_t count = 0;
	for (const NamedLeaf &leaf : stored.named)
		if (leaf.digest.path == path)
			new (&names[count++]) std::string_view(leaf.name);
	for (const PathName &name : kept.names)
		if (name.digest == path)
			new (&names[count++]) std::string_view(name.path);
	if (count > 0)
		return {names, count};
	return find_path_names(request.policy->id, path);
}

} // namespace

KeptRequest keep_request(const Request &request) {
	const Policy &policy = *request.policy;
	KeptRequest kept;
	if (policy.stores_arguments) {
		kept.arguments = request.call.arguments;
		return kept;
	}
	// A client of a lower version can find the row by a part of the key, and differ in the rest of it.
	const bool with_key = !request.older.empty();
	if (!request.fingerprint.present && !with_key)
		return kept;
	const Arena arena = arena_in(CurrentMemoryContext);
	const LeafRecord record = record_leaves(policy.recipe, JsonbDocument(request.call.arguments),
	                                        with_key, request.key, arena);
	kept.leaves = encode_leaves(record, arena);
	kept.names = new_names(policy, record.leaves);
	if (!kept.names.empty())
		reserve_path_names();
	return kept;
}

std::span<const std::string_view> differing_fields(const StoredRequest &request, const Call &call) {
	const Policy &policy = *request.policy;
	const Arena arena = arena_in(CurrentMemoryContext);
	Stored stored;
	if (policy.fault.what != nullptr || !read_stored(request, arena, stored))
		return {};
	Digest128 key;
	const bool same_key = derive_under(policy, call, key) && key == request.key;
	if (!same_key && !stored.leaves.form.with_key)
		return {};
	Dictionary dictionary{request, stored};
	return differing_names(stored.leaves,
	                       digest_leaves(policy.recipe, JsonbDocument(call.arguments),
	                                     stored.leaves.form, request.key, arena),
	                       request.key, {find_names, &dictionary}, arena);
}

} // namespace pg_idem
