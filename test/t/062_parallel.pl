# Parallel query: key locks do not conflict within a lock group, so no worker may claim.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl";

use PgIdem;
use Test::More;

my $node = new_server('parallel');

# Somebody's own wrappers, which say PARALLEL SAFE and are not.
$node->safe_psql('postgres', q{
	ALTER FUNCTION claim(int, text, interval) PARALLEL SAFE;
	ALTER FUNCTION finish(int) PARALLEL SAFE;
	ALTER FUNCTION pay(int) PARALLEL SAFE;
	ALTER FUNCTION look_up(int, text) PARALLEL SAFE;
	ALTER FUNCTION key_of(int, text) PARALLEL SAFE;
	CREATE FUNCTION safe_claim(n int) RETURNS text PARALLEL SAFE LANGUAGE plpgsql AS
		'BEGIN RETURN claim(n); END';
	CREATE FUNCTION safe_complete(n int) RETURNS text PARALLEL SAFE LANGUAGE plpgsql AS
		$$BEGIN RETURN idem_complete('acme', key_of(n)); END$$;
	CREATE FUNCTION safe_look_up(n int) RETURNS text PARALLEL SAFE LANGUAGE plpgsql AS
		$$BEGIN RETURN coalesce(look_up(n), 'nothing'); END$$;
	CREATE TABLE number AS SELECT n FROM generate_series(1, 20000) n;
	ANALYZE number});

my $session = session($node);
ask($session, q{
	SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
	SET max_parallel_workers_per_gather = 2});
like(ask($session, 'EXPLAIN SELECT safe_claim(n) FROM number'),
	qr/Gather/, 'a wrapper that says it is safe is run by workers');

is(ask($session, q{BEGIN; SELECT claim(1)}), 'claimed', 'the leader holds a claim');
ask($session, 'SAVEPOINT s');
is(ask($session, 'SELECT min(safe_claim(n)) FROM number WHERE n = 1'),
	'25000', 'a claim in a parallel plan is an error');
is(ask($session, 'ROLLBACK TO s; SELECT min(safe_complete(n)) FROM number WHERE n = 1'),
	'25000', 'so is a completion');
is(ask($session, 'ROLLBACK TO s; SELECT finish(1); COMMIT'), 'completed', 'the claim is intact');
is(ask($session, 'SET force_parallel_mode = on; SELECT safe_claim(2)'),
	'25000', 'likewise where the plan is forced');
ask($session, 'RESET force_parallel_mode');

is(ask($session, 'SELECT count(*), min(n) FROM effect'), '1|1', 'one effect');
is(ask($session, 'SELECT count(*) FROM idem.key'), '1', 'one row');
is(ask($session, 'SELECT safe_claim(1)'),
	'replayed', 'outside of parallel plans the wrapper works');

# Our own functions keep plans from being parallel, or stay with the leader.
unlike(
	ask($session, q{
		EXPLAIN SELECT idem_claim('acme', 'pay', jsonb_build_object('n', n)) FROM number}),
	qr/Gather/, 'idem_claim is never given to workers');
is( ask($session, q{
		BEGIN; SELECT claim(3); SELECT finish(3);
		SELECT count(*) FROM number
		WHERE (idem_lookup('acme', 'pay', jsonb_build_object('n', n))).outcome = 'replayed';
		COMMIT}),
	"claimed\ncompleted\n2", 'idem_lookup sees pending claims beside a parallel plan');

# A worker has no pending claims, so it cannot tell what the transaction has claimed.
is( ask($session, 'BEGIN; SELECT claim(4); SELECT finish(4);
		SET LOCAL force_parallel_mode = on; SELECT safe_look_up(4)'),
	'25000', 'a look-up in a worker is refused rather than answered with nothing');
ask($session, 'ROLLBACK');

$session->quit;
$node->stop;
done_testing();
