// What the launcher and the worker that it has started tell each other, in memory that they share.
// There is one worker at a time and the launcher looks only after its end, so nothing locks it.
#pragma once

extern "C" {
#include "postgres.h"
}

namespace pg_idem {

struct Visit {
	// From the launcher
	NameData database;
	int former_error; // the SQLSTATE that the last visit to this database failed with, or 0

	// From the worker
	bool ended; // as it should; false when it never started, or was terminated
	bool more;  // its time was over before the keys were
	int error;  // the SQLSTATE that it failed with, or 0
};

} // namespace pg_idem
