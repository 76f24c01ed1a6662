# C090: examples/outbox through a pooler in transaction mode: what 056 tests, over two server connections for each service.

use strict;
use warnings;
use FindBin;

use PostgreSQL::Test::Cluster; # loaded here: it cannot prepare a test that is running already

local $ENV{PG_IDEM_POOLED} = 1;
require "$FindBin::RealBin/056_outbox.pl";
