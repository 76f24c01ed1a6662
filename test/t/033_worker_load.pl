# What a large ledger costs expiry, and what expiry costs the claims.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl";

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use PgIdemWorker;
use Test::More;

my $node = worker_server('load', 'pg_idem.expire_interval' => 0, 'autovacuum' => 'off',
	'shared_buffers' => '256MB', 'max_wal_size' => '2GB', 'synchronous_commit' => 'off');
$node->start;
$node->safe_psql('postgres', "CREATE DATABASE $_") for qw(backlog large churn);
add_ledger($node, $_) for qw(backlog large churn);

# Pages that each of some statements touched, in one session.
sub pages_of
{
	my ($database, @statements) = @_;
	my $plans = $node->safe_psql($database, join ';', map { "EXPLAIN (ANALYZE, BUFFERS, FORMAT json) $_" } @statements);
	# The first node of a plan has the sum.
	return map {
		my ($hit) = /"Shared Hit Blocks": (\d+)/;
		my ($read) = /"Shared Read Blocks": (\d+)/;
		$hit + $read
	} grep { /Plan/ } split /^\]$/m, $plans;
}

sub pages_of_table
{
	my ($database) = @_;
	return $node->safe_psql($database, "SELECT pg_relation_size('idem.key') / 8192");
}

# C103, C110: a backlog of 300,000 keys, while twenty sessions claim and look. A snapshot keeps the
# deleted rows, which say in which transaction they were deleted.
$node->safe_psql('backlog', 'CREATE EXTENSION pageinspect');
add_expired($node, 'backlog', 300000);
my $snapshot = $node->background_psql('backlog');
$snapshot->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM idem.key');
my $scripts = PostgreSQL::Test::Utils::tempdir;
append_to_file("$scripts/claim.sql", q{
\set n random(1, 1000000000)
SELECT 1 / (outcome IN ('claimed', 'replayed'))::int
FROM idem_record('acme', 'pay', jsonb_build_object('n', :n), ':n');
});
append_to_file("$scripts/look.sql", q{
SELECT count(*) FROM (SELECT FROM idem_keys LIMIT 100) s;
});
append_to_file("$scripts/modes.sql", q{
INSERT INTO mode SELECT l.locktype, l.mode FROM pg_locks l JOIN pg_stat_activity a USING (pid)
WHERE a.backend_type = 'pg_idem worker' AND l.database = a.datid ON CONFLICT DO NOTHING;
});
$node->safe_psql('backlog', 'CREATE TABLE mode (locktype text, mode text, PRIMARY KEY (locktype, mode))');
my $offset = -s $node->logfile;
my $output = '';
my $load = IPC::Run::start(
	[ 'pgbench', '-n', '-c', '20', '-j', '2', '-R', '400', '-L', '2000', '-T', '6', '-h', $node->host,
		'-p', $node->port, '-f', "$scripts/claim.sql\@8", '-f', "$scripts/look.sql\@1",
		'-f', "$scripts/modes.sql\@1", 'backlog' ],
	'>', \$output, '2>&1');
wait_for($node, 'backlog', 'SELECT count(*) > 300000 FROM idem.key');
resume_worker($node);
$load->finish;
like($output, qr/number of failed transactions: 0 \(/, 'C103, C110: claims and look-ups go on during the purge');
like($output, qr/above the 2000.0 ms latency limit: 0\//, 'C103: none of them waits for the purge');
wait_for($node, 'backlog', "SELECT count(*) = 0 FROM idem.key WHERE completed_at < now() - interval '1 day'");
my ($rows, $batches, $largest) = split /\|/, $node->safe_psql('backlog', q{
	SELECT sum(rows), count(*), max(rows) FROM (
		SELECT t_xmax, count(*) AS rows
		FROM generate_series(0, pg_relation_size('idem.key') / 8192 - 1) block,
		     heap_page_items(get_raw_page('idem.key', block::int))
		WHERE t_xmax::text <> '0' GROUP BY t_xmax) s});
is($rows, 300000, 'C103: the whole backlog is deleted');
is("$batches, $largest", '300, 1000', 'C103: in transactions of 1,000 rows each');
is($node->safe_psql('backlog', 'SELECT count(*) FROM effect'), '300000', 'C103: effects are not touched');
is( $node->safe_psql('backlog', q{
	SELECT bool_or(mode = 'RowExclusiveLock'), string_agg(mode, ' ') FILTER (WHERE mode NOT IN ('AccessShareLock', 'RowExclusiveLock'))
	FROM mode WHERE locktype = 'relation'}),
	't|', 'C110: the worker locks no table stronger than a claim does');
is(log_lines($node, 'ERROR:|deadlock', $offset), 0, 'C110: no deadlock, no error');
$snapshot->query_safe('COMMIT');
$snapshot->quit;
pause_worker($node);

# C106: a million live keys, and ten that come to their end, finished together as in life.
$node->safe_psql('large', q{
	INSERT INTO idem.key (key, completed_at, elapsed, policy, state, tenant, effect_ref)
		SELECT md5(n::text)::uuid, now(), 5, 1, 'c', 'acme', n::text FROM generate_series(1, 1000000) n});
$node->safe_psql('large', q{
	INSERT INTO idem.key (key, completed_at, elapsed, policy, state, tenant, effect_ref)
		SELECT md5(n::text)::uuid, now() - interval '59 minutes 50 seconds', 5, 1, 'c', 'acme', n::text
		FROM generate_series(1000001, 1000010) n});
my $table = pages_of_table('large');
my ($first, $idle) = pages_of('large', ('SELECT idem_expire()') x 2);
cmp_ok($first, '>=', $table, "C106: the first round reads the table of $table pages once ($first pages)");
cmp_ok($idle, '<', 10, "C106: a round with nothing to delete reads a handful of pages ($idle)");
is(keys_left($node, 'large'), 1000010, 'C106: all keys are alive');
wait_for($node, 'large', "SELECT min(completed_at) < now() - interval '1 hour' FROM idem.key");
my (undef, $due) = pages_of('large', 'SELECT count(*) FROM idem.sweep', 'SELECT idem_expire()');
is(keys_left($node, 'large'), 1000000, 'C106: ten keys of a million are deleted when they are due');
cmp_ok($due, '<', 400, "C106: that round reads the range of 128 blocks that they lie in ($due pages)");

# C104: an old snapshot keeps all that is deleted meanwhile.
$node->safe_psql('churn', q{
	SELECT idem_define('brief', key_fields => '{"n": "exact"}', retention => '1 millisecond');
	CREATE PROCEDURE churn(keys int) LANGUAGE plpgsql AS $$
	DECLARE
		answer idem.claim;
	BEGIN
		FOR n IN 1 .. keys LOOP
			answer := idem_record('acme', 'brief', jsonb_build_object('n', n));
			IF n % 1000 = 0 THEN
				COMMIT;
				PERFORM idem_expire(1000);
				COMMIT;
			END IF;
		END LOOP;
	END $$});
sub claim_pages
{
	my ($n) = @_;
	# The second claim of a session: what is read once is not what a claim costs.
	my (undef, $pages) =
	  pages_of('churn', map { qq{SELECT idem_record('acme', 'brief', '{"n": "$n-$_"}')} } 1 .. 2);
	return $pages;
}
my $before = claim_pages('before');
$snapshot = $node->background_psql('churn');
$snapshot->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM idem.key');
$node->safe_psql('churn', 'CALL churn(50000)');
resume_worker($node);
wait_for($node, 'churn', 'SELECT count(*) = 0 FROM idem.key');
pause_worker($node);
my $after = claim_pages('after');
cmp_ok($after, '<', $before + 10, "C104: a claim stays one probe ($before pages before, $after after)");
# Longer lives: expiry need not look at the blocks for an hour.
$node->safe_psql('churn', q{SELECT idem_define('brief', retention => '1 hour'); });
my (undef, $round) = pages_of('churn', ('SELECT idem_expire()') x 2);
cmp_ok($round, '<', 10, "C104: nor does expiry read the dead rows again ($round pages)");
is( $node->safe_psql('churn', q{
	SELECT count(*) FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND xact_start IS NOT NULL
	       AND datname = 'churn' AND pid <> pg_backend_pid()}),
	'1', 'C104: PostgreSQL shows whose snapshot it is');
$snapshot->query_safe('COMMIT');
$snapshot->quit;

$node->stop;
done_testing();
