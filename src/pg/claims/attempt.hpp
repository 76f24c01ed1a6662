// An attempt under way: marking that it is sent, renewing its lease, and what one reports that has lost its key.
#pragma once

#include <string_view>

#include "core/outcome.hpp"

namespace pg_idem {

struct Attempt {
	std::string_view tenant; // NULL data: NULL
	std::string_view key;    // likewise
	bool has_fence;
	int64_t fence;
};

// "sending", or "already" when the attempt counts as sent. The commit is synchronous, standbys included: the
// call goes out after it.
//
// Raises ID021 when there is no such claim for the tenant, ID022 for a missing or stale fence, ID023 when the
// key is finished, ID024 for a claim that is not committed yet, ID028 when the lease has ended, ID029 when it
// ends after the provider's window, 40001 when the snapshot cannot see the row.
std::string_view mark_sending(const Attempt &attempt);

// The end of the lease, which is `lease` from now, or the policy's for 0. Also for one that has ended, as long as
// nobody has taken the key over.
//
// Raises what mark_sending raises, but ID028 and ID029; ID023 also after idem_unknown and idem_release.
Micros renew(const Attempt &attempt, Micros lease);

// Raises what mark_sending raises but ID023, ID028 and ID029, unless the fence is the one of the key's last attempt,
// whatever became of it. The key stays locked.
void require_fence(const Attempt &attempt);

// Keeps what an attempt has to say that was fenced off. Raises ID021 as above; ID022 for a fence that was not
// given; ID027 when the fence is the one of the present attempt, which can still finish the key.
void report_late(const Attempt &attempt, std::string_view effect_ref);

} // namespace pg_idem
