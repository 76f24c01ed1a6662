# Databases and the extension come and go while a worker is in them.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl";

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use PgIdemWorker;
use Test::More;

# One key a transaction, so that a visit takes all the time that it may.
my $node = worker_server('databases', 'pg_idem.expire_batch' => 1, 'pg_idem.expire_interval' => 0);
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE origin');
add_ledger($node, 'origin');
add_expired($node, 'origin', 100000);
$node->safe_psql('postgres',
	join "\n", map { "CREATE DATABASE copy$_ TEMPLATE origin STRATEGY file_copy;" } 1 .. 11);
resume_worker($node);
my $launcher = launcher_pid($node);

# C128
my $slowest = 0;
for (1 .. 10)
{
	my (undef, $database) = wait_for_worker($node, '^copy');
	my $seconds = seconds_of(sub { $node->safe_psql('postgres', "DROP DATABASE $database") });
	$slowest = $seconds if $slowest < $seconds;
}
pass('C128: DROP DATABASE succeeds ten times, each with a worker in the database');
cmp_ok($slowest, '<', 5, 'C128: within seconds');
is(log_lines($node, 'ERROR:|FATAL:'), 0, 'C128: nothing goes wrong');

# C129
wait_for_worker($node, '^origin$');
cmp_ok(seconds_of(sub { $node->safe_psql('postgres', 'CREATE DATABASE twin TEMPLATE origin') }),
	'<', 10, 'C129: a database with a worker in it can be copied');

# C130: any DROP DATABASE asks every process to close its files.
$node->safe_psql('postgres', 'CREATE DATABASE unrelated1');
$node->safe_psql('postgres', 'CREATE DATABASE unrelated2');
wait_for_worker($node, '^(origin|twin|copy)');
cmp_ok(seconds_of(sub { $node->safe_psql('postgres', 'DROP DATABASE unrelated1') }),
	'<', 5, 'C130: an unrelated database is dropped during a visit');

# C127
my $offset = -s $node->logfile;
my ($pid, $database) = wait_for_worker($node, '^copy', '500 ms');
cmp_ok(seconds_of(sub { $node->safe_psql('postgres', "DROP DATABASE $database WITH (FORCE)") }),
	'<', 5, 'C127: DROP DATABASE with FORCE ends the worker');
$node->wait_for_log(qr/deleted \d+ keys past their life in database "origin"/, $offset);
is(log_lines($node, 'FATAL:.*pg_idem worker', $offset), 1, 'C127: which is logged once');
is(log_lines($node, "FATAL:.*$database", $offset), 0, 'C127: no worker is sent there again');
is(launcher_pid($node), $launcher, 'C127: the launcher is still the same');
pause_worker($node);
cmp_ok(seconds_of(sub { $node->safe_psql('postgres', 'DROP DATABASE unrelated2') }),
	'<', 5, 'C130: an unrelated database is dropped while the launcher sleeps');

is($node->safe_psql('twin', 'SELECT count(*) FROM effect'), '100000', 'effects are not touched');
$node->safe_psql('postgres', 'DROP DATABASE twin');

# The extension is dropped and created while a worker deletes its keys.
resume_worker($node);
$offset = -s $node->logfile;
$slowest = 0;
for (1 .. 5)
{
	wait_for_worker($node, '^origin$');
	my $seconds = seconds_of(sub { $node->safe_psql('origin', 'DROP EXTENSION pg_idem CASCADE') });
	$slowest = $seconds if $slowest < $seconds;
	add_ledger($node, 'origin');
	add_expired($node, 'origin', 20000);
}
cmp_ok($slowest, '<', 5, 'DROP EXTENSION waits for one batch of a worker at most');

# A transaction that has dropped it and does not end: the worker gives up without a word.
my $session = $node->background_psql('origin');
$session->query_safe('BEGIN; DROP EXTENSION pg_idem');
wait_for($node, 'postgres', q{
	SELECT EXISTS (SELECT FROM pg_stat_activity
	               WHERE backend_type = 'pg_idem worker' AND datname = 'origin' AND wait_event_type = 'Lock')});
wait_for($node, 'postgres', q{
	SELECT NOT EXISTS (SELECT FROM pg_stat_activity
	                   WHERE backend_type = 'pg_idem worker' AND datname = 'origin')});
$session->query_safe('ROLLBACK');
$session->quit;
set_option($node, 'pg_idem.expire_batch', 1000);
wait_for($node, 'origin', 'SELECT count(*) = 0 FROM idem.key');
is(log_lines($node, 'ERROR:|FATAL:', $offset), 0, 'and no worker fails');

$node->stop;
done_testing();
