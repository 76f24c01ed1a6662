# C090: examples/mcp_refunds through a pooler in transaction mode: what 059 tests, over two server connections.

use strict;
use warnings;
use FindBin;

use PostgreSQL::Test::Cluster; # loaded here: it cannot prepare a test that is running already

local $ENV{PG_IDEM_POOLED} = 1;
require "$FindBin::RealBin/059_mcp_refunds.pl";
