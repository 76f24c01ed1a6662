#include "pg/claims/kept_request.hpp"

#include <algorithm>

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
	const auto &names = request.kept.names;
	// In order of the digests.
	const auto [begin, end] = std::equal_range(
		stored.named.begin(), stored.named.end(), NamedLeaf{{path, 0}, {}, {}},
		[](const NamedLeaf &a, const NamedLeaf &b) { return a.digest.path < b.digest.path; });
	auto *found = static_cast<std::string_view *>(palloc(
		sizeof(std::string_view) * (static_cast<std::size_t>(end - begin) + names.size() + 1)));
	std::size_t count = 0;
	for (auto leaf = begin; leaf != end; ++leaf)
		new (&found[count++]) std::string_view(leaf->name);
	for (const PathName &name : names)
		if (name.digest == path)
			new (&found[count++]) std::string_view(name.path);
	if (count > 0 || !stored.named.empty())
		return {found, count};
	return find_path_names(request.policy->id, path);
}

} // namespace

KeptRequest keep_request(const Policy &policy, const Digest128 &key, const Request &request) {
	KeptRequest kept;
	const Call &call = request.call;
	if (policy.stores_arguments) {
		kept.arguments = call.arguments;
		return kept;
	}
	// A client of another version can find the row by a part of the key, and differ in the rest of it.
	const bool with_key = !request.older.empty() || policy.id != request.policy->id;
	if (!request.fingerprint.present && !with_key)
		return kept;
	const Arena arena = arena_in(CurrentMemoryContext);
	const LeafRecord record =
		record_leaves(policy.recipe, JsonbDocument(call.arguments), with_key, key, arena);
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
