// What people decide, and what attempts report that have lost their key: idem.decision, idem.late_report.
#pragma once

extern "C" {
#include "postgres.h"
}

#include <string_view>

#include "core/digest.hpp"
#include "core/outcome.hpp"

namespace pg_idem {

// Of this session's user.
struct Decided {
	Digest128 key;
	int32 generation;
	Micros at;
	State before;
	std::string_view decision;
	std::string_view effect_ref; // NULL data: none
	std::string_view note;       // likewise
};

void insert_decision(const Decided &decided);

struct LateReport {
	Digest128 key;
	int32 generation;
	Micros at;
	int64 fence;
	std::string_view effect_ref;
};

void insert_late_report(const LateReport &report);

} // namespace pg_idem
