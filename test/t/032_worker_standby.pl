# C124: no worker on a standby, one after its promotion.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl";

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use PgIdemWorker;
use Test::More;

my $primary = worker_server('primary', 'allows_streaming' => 1, 'pg_idem.expire_interval' => 0);
$primary->start;
add_ledger($primary, 'postgres');
add_expired($primary, 'postgres', 10);
$primary->backup('base');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
# What is due all the time on the standby would show, if it were touched.
$standby->append_conf('postgresql.conf', 'pg_idem.expire_interval = 1');
$standby->start;
add_expired($primary, 'postgres', 10);
$primary->wait_for_catchup($standby);
is(keys_left($standby, 'postgres'), '20', 'C124: the standby has the keys');
is($standby->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'pg_idem%'"),
	'0', 'C124: neither launcher nor worker runs on a standby');
my ($status, undef, $error) = $standby->psql('postgres', "\\set VERBOSITY sqlstate\nSELECT idem_expire()");
like($error, qr/25006/, 'C124: idem_expire is refused there');
is(log_lines($standby, 'PANIC:|pg_idem (found|deleted|launcher|worker)|terminated by signal'),
	0, 'C124: nothing is logged during recovery');

$primary->stop;
$standby->promote;
wait_for($standby, 'postgres', 'SELECT count(*) = 0 FROM idem.key');
pass('C124: expiry starts after the promotion, without a restart');
is(log_lines($standby, 'ERROR:'), 1, 'C124: the only error is that of the call above');
$standby->stop;

done_testing();
