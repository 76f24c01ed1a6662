#include "pg/claims/request.hpp"

extern "C" {
#include "utils/builtins.h"
}

#include "core/canonical.hpp"
#include "pg/errors.hpp"
#include "pg/jsonb/jsonb_document.hpp"
#include "pg/jsonb/text_sink.hpp"
#include "pg/policy/definition.hpp"
#include "pg/sha256.hpp"

namespace pg_idem {

namespace {

// A tenant is stored with each key, so it has a bound; an occurrence is only hashed.
constexpr std::size_t max_tenant_bytes = 255;

// NULL: the message says it all.
const char *hint_for(Problem problem) {
	switch (problem) {
	case Problem::TooManyDecimals:
		return "Amounts are never rounded. Pass no more decimals than ISO 4217 gives the currency.";
	case Problem::UnknownCurrency:
		return "Currencies are ISO 4217 alphabetic codes; minor_units(<digits>) takes any other unit.";
	case Problem::NotInteger: return "Numbers are never rounded.";
	case Problem::NoOffset:
		return "It names an instant only together with an offset: Z, +01:00, -0530.";
	case Problem::NotDate:
		return "Dates are spelled YYYY-MM-DD or YYYYMMDD. Which date a timestamp falls on depends on a time zone.";
	case Problem::NotEmail: return "An address stands alone, without a display name.";
	case Problem::NotUrl:
		return "URLs are those of RFC 3986, so that characters beyond ASCII are percent-encoded.";
	case Problem::UnassignedCharacter:
		return "A later version of Unicode may give the text another form, and with it another key.";
	default: return nullptr;
	}
}

Refusal refuse_fault(const Fault &fault) {
	if (fault.problem == Problem::ArgumentsNotObject)
		return {ERRCODE_INVALID_PARAMETER_VALUE, "arguments are not a JSON object",
		        "This operation is identified by fields of its arguments."};
	if (fault.problem == Problem::NoKeyField)
		return {
			errcode_missing_key_field, "no key field has a value",
			"All key fields of this operation are optional, but a request without any would share "
			"its key with every other such request."};
	const bool absent = fault.problem == Problem::Missing || fault.problem == Problem::Null;
	const char *hint =
		absent
			? "Without it, two different intents would share a key. A field that may be absent is declared \"optional\" in key_fields."
			: hint_for(fault.problem);
	return {absent ? errcode_missing_key_field : errcode_invalid_key_field,
	        psprintf("key field \"%.*s\" %s", static_cast<int>(fault.field.size()),
	                 fault.field.data(), describe(fault.problem)),
	        hint};
}

Refusal check_call(const Call &call) {
	const Refusal tenant = check_tenant(call.tenant);
	if (tenant.message != nullptr)
		return tenant;
	if (call.operation.data() == nullptr)
		return {ERRCODE_NULL_VALUE_NOT_ALLOWED, "operation is NULL", nullptr};
	if (call.arguments == nullptr)
		return {ERRCODE_NULL_VALUE_NOT_ALLOWED, "arguments are NULL",
		        "Pass '{}' for an operation without arguments."};
	if (call.has_version && call.version < 1)
		return {ERRCODE_INVALID_PARAMETER_VALUE, "version is not positive", nullptr};
	return {};
}

Refusal check_occurrence(const Policy &policy, std::string_view occurrence) {
	const bool given = occurrence.data() != nullptr;
	if (policy.recipe.identity != Identity::Occurrence) {
		if (given)
			return {
				errcode_invalid_occurrence, "operation takes no occurrence",
				"Its identity is in the arguments. An operation defined with identity => 'occurrence' is identified by an id that the caller passes."};
		return {};
	}
	if (!given)
		return {
			errcode_invalid_occurrence, "operation needs an occurrence",
			"Pass the durable id of this occurrence: a workflow step, a webhook's event id, an Idempotency-Key."};
	if (is_blank(occurrence))
		return {ERRCODE_INVALID_PARAMETER_VALUE, "occurrence is blank", nullptr};
	return {};
}

Refusal refuse_undefined(const Call &call) {
	const int length = static_cast<int>(call.operation.size());
	if (call.has_version && find_policy(call.operation, 0).policy != nullptr)
		return {errcode_undefined_operation,
		        psprintf("version %d of operation \"%.*s\" is not defined", call.version, length,
		                 call.operation.data()),
		        "The view idem_operations lists what is defined."};
	return {
		errcode_undefined_operation,
		psprintf("operation \"%.*s\" is not defined", length, call.operation.data()),
		psprintf(
			"Define it once: SELECT idem_define('%.*s', key_fields => '{\"<field>\": \"exact\"}');",
			length, call.operation.data())};
}

Fault key_under(const Policy &policy, const Call &call, Digest128 &key) {
	const JsonbDocument document(call.arguments);
	Arena arena = arena_in(CurrentMemoryContext);
	begin_sha256();
	CanonicalWriter writer(digest_sink);
	const Fault fault =
		write_preimage(policy.recipe, call.tenant, call.occurrence, document, arena, writer);
	// No fault of the request: to take it for one would leave a key of it out of account.
	if (fault.problem == Problem::IcuFailed)
		ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR),
		                errmsg("ICU could not normalise key field \"%.*s\"",
		                       static_cast<int>(fault.field.size()), fault.field.data())));
	if (fault.problem == Problem::None) {
		writer.flush();
		key = first_half(end_sha256());
	}
	return fault;
}

Fault derive_subject(const Policy &policy, const Call &call, Digest128 &subject) {
	const JsonbDocument document(call.arguments);
	Arena arena = arena_in(CurrentMemoryContext);
	begin_sha256();
	CanonicalWriter writer(digest_sink);
	const Fault fault = write_subject(policy.recipe, call.tenant, document, arena, writer);
	if (fault.problem == Problem::None) {
		writer.flush();
		subject = first_half(end_sha256());
	}
	return fault;
}

// A request that a lower version would refuse cannot have been made under it.
std::span<const OlderKey> older_keys(const Request &request, std::span<const Policy> versions) {
	if (versions.empty())
		return {};
	auto *keys = static_cast<OlderKey *>(palloc(sizeof(OlderKey) * versions.size()));
	std::size_t count = 0;
	for (const Policy &version : versions) {
		Digest128 key;
		if (version.retired || !derive_under(version, request.call, key) || key == request.key)
			continue;
		new (&keys[count++]) OlderKey{&version, key};
	}
	return {keys, count};
}

Fingerprint fingerprint_of(const Recipe &recipe, const JsonbDocument &document) {
	Fingerprint fingerprint;
	fingerprint.present = has_bound(recipe, document);
	if (fingerprint.present) {
		begin_sha256();
		CanonicalWriter writer(digest_sink);
		write_bound(recipe, document, writer);
		writer.flush();
		fingerprint.digest = first_half(end_sha256());
	}
	return fingerprint;
}

} // namespace

const char *describe(Problem problem) {
	switch (problem) {
	case Problem::None: break;
	case Problem::Missing: return "is missing";
	case Problem::Null: return "is null";
	case Problem::Blank: return "is blank";
	case Problem::NotString: return "is not a string";
	case Problem::NotNumber: return "is not a number or a decimal string";
	case Problem::TooManyDecimals: return "has more decimals than its currency";
	case Problem::NumberTooLong: return "has too many digits";
	case Problem::UnknownCurrency: return "has an unknown currency";
	case Problem::CurrencyMissing: return "has no currency";
	case Problem::NotInteger: return "is not a whole number";
	case Problem::NotBoolean: return "is neither true nor false";
	case Problem::NotArray: return "is not an array";
	case Problem::NotUuid: return "is not a UUID";
	case Problem::NotTimestamp: return "is not an ISO 8601 timestamp";
	case Problem::NoOffset: return "is a timestamp without a UTC offset";
	case Problem::YearOutOfRange: return "is before the year 0 or after the year 9999 in UTC";
	case Problem::NotDate: return "is not an ISO 8601 date";
	case Problem::NotEmail: return "is not an e-mail address";
	case Problem::NotUrl: return "is not a URL with a scheme";
	case Problem::UnassignedCharacter: return "has a character that this server's Unicode lacks";
	case Problem::TooLong: return "is too long to be normalised";
	case Problem::IcuFailed:
	case Problem::NoKeyField:
	case Problem::ArgumentsNotObject: break; // no fault of a field
	}
	return "is not acceptable";
}

Refusal check_tenant(std::string_view tenant) {
	if (tenant.data() == nullptr)
		return {ERRCODE_NULL_VALUE_NOT_ALLOWED, "tenant is NULL",
		        "Every key belongs to a tenant. An application with one tenant passes a constant."};
	if (is_blank(tenant))
		return {ERRCODE_INVALID_PARAMETER_VALUE, "tenant is blank", nullptr};
	if (tenant.size() > max_tenant_bytes)
		return {ERRCODE_INVALID_PARAMETER_VALUE, "tenant is longer than 255 bytes", nullptr};
	return {};
}

Refusal derive(const Call &call, Request &request) {
	require_utf8();
	Refusal refusal = check_call(call);
	if (refusal.message != nullptr)
		return refusal;
	const FoundPolicy found = find_policy(call.operation, call.version);
	if (found.policy == nullptr)
		return refuse_undefined(call);
	request.policy = found.policy;
	if (request.policy->fault.what != nullptr)
		raise_definition_fault(call.operation, request.policy->fault);
	refusal = check_occurrence(*request.policy, call.occurrence);
	if (refusal.message != nullptr)
		return refusal;
	request.call = call;
	const Fault fault = key_under(*request.policy, call, request.key);
	if (fault.problem != Problem::None)
		return refuse_fault(fault);
	request.fingerprint = fingerprint_of(request.policy->recipe, JsonbDocument(call.arguments));
	request.has_subject = !request.policy->recipe.exclusive.empty();
	if (request.has_subject) {
		const Fault bad_subject = derive_subject(*request.policy, call, request.subject);
		if (bad_subject.problem != Problem::None)
			return refuse_fault(bad_subject);
	}
	request.older = older_keys(request, found.older);
	request.newer = found.newer;
	return {};
}

Request require_request(const Call &call) {
	Request request;
	const Refusal refusal = derive(call, request);
	if (refusal.message != nullptr)
		raise_refusal(refusal);
	return request;
}

text *intent_text(const Call &call) {
	Request request = require_request(call);
	const JsonbDocument document(call.arguments);
	Arena arena = arena_in(CurrentMemoryContext);
	TextSink sink;
	CanonicalWriter writer(sink.sink());
	write_key_document(request.policy->recipe, call.tenant, call.occurrence, document, arena,
	                   writer);
	writer.flush();
	return sink.finish();
}

bool derive_under(const Policy &policy, const Call &call, Digest128 &key) {
	return policy.fault.what == nullptr &&
	       check_occurrence(policy, call.occurrence).message == nullptr &&
	       key_under(policy, call, key).problem == Problem::None;
}

bool is_same_under(const Policy &policy, const Call &call, const Digest128 &key,
                   const Fingerprint &fingerprint) {
	Digest128 derived;
	return derive_under(policy, call, derived) && derived == key &&
	       same(fingerprint, fingerprint_of(policy.recipe, JsonbDocument(call.arguments)));
}

Fingerprint fingerprint_under(const Policy &policy, const Request &request) {
	if (policy.id == request.policy->id)
		return request.fingerprint;
	return fingerprint_of(policy.recipe, JsonbDocument(request.call.arguments));
}

bool same(const Fingerprint &a, const Fingerprint &b) {
	return a.present == b.present && (!a.present || a.digest == b.digest);
}

void raise_refusal(const Refusal &refusal) {
	ereport(ERROR, (errcode(refusal.sqlstate), errmsg("%s", refusal.message),
	                refusal.hint != nullptr ? errhint("%s", refusal.hint) : 0));
	pg_unreachable();
}

} // namespace pg_idem
