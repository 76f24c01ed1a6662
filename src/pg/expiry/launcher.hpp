// The launcher of expiry: a background worker that is connected to no database, so that it is in
// nobody's way. At each interval it goes from database to database and starts a worker in each, one
// at a time, which is gone within seconds: a worker that stayed would keep its database from being
// dropped or copied.
#pragma once

namespace pg_idem {

// Asks the server to run the launcher; at library load. Does nothing unless the library is being
// preloaded, nor during pg_upgrade. It runs when recovery has finished, so never on a standby.
void register_launcher();

} // namespace pg_idem
