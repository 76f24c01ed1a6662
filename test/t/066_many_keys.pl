# Long key parts, a hundred thousand keys beside an open claim, and claims in opposite orders.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl";

use PgIdem;
use Test::More;

my $node = new_server('many_keys');
my $session = session($node);

ask($session, q{SELECT idem_define('step', identity => 'occurrence')});
my $step = q{SELECT outcome FROM idem_record(%s, 'step', '{"a": 1}', occurrence => %s)};
my $long = q{left(repeat(md5('x'), 400), 12799) || };
is(ask($session, sprintf $step, q{'t'}, "$long '0'"),
	'claimed', 'C072: an occurrence of 12,800 characters');
is(ask($session, sprintf $step, q{'t'}, "$long '0'"), 'replayed', 'C072: is recognised');
is(ask($session, sprintf $step, q{'t'}, "$long '1'"), 'claimed', 'C072: to its last character');
is(ask($session, sprintf $step, q{repeat('t', 255)}, q{'1'}),
	'claimed', 'C072: a tenant of 255 bytes');
is(ask($session, sprintf $step, qq{repeat('t', $_)}, q{'1'}),
	'22023', "C072: a tenant of $_ is refused") for 256, 3000;
is( ask($session, q{
		SELECT outcome
		FROM idem_record('t', 'pay', jsonb_build_object('n', repeat('ä', 100000)))}),
	'claimed', 'C072: a key field of 200,000 bytes');

# C091: half of the keys in one transaction, which must not fill the lock table.
my $owner = session($node);
is(ask($owner, 'BEGIN; SELECT claim(0)'), 'claimed', 'C091: a claim is kept open');
ask($session, q{SET lock_timeout = '50ms'});
is( ask($session, q{
		BEGIN;
		SELECT count(*) FROM generate_series(1, 50000) n
			WHERE (idem_record('acme', 'pay', jsonb_build_object('n', n))).outcome = 'claimed';
		SELECT count(*) <= 64 FROM pg_locks WHERE locktype = 'userlock' AND pid = pg_backend_pid();
		COMMIT}),
	"50000\nt", 'C091: 50,000 other keys in one transaction, which holds 64 locks at most');
ask($session, q{
	CREATE PROCEDURE pay_each(first int, last int) LANGUAGE plpgsql AS $$
	BEGIN
		FOR n IN first..last LOOP
			IF (idem_record('acme', 'pay', jsonb_build_object('n', n))).outcome <> 'claimed' THEN
				RAISE EXCEPTION 'intent % was not claimed', n;
			END IF;
			COMMIT;
		END LOOP;
	END $$});
is(ask($session, 'CALL pay_each(50001, 100000)'),
	'', 'C091: 50,000 in as many transactions; none waits for a lock');
is(ask($session, 'SELECT count(*) FROM idem.key'), '100004', 'C091: all of them were recorded');
is(ask($owner, 'SELECT finish(0); COMMIT'), 'completed', 'C091: beside the one that was open');
$_->quit for $owner, $session;

# C096: two clients claim the same pairs in opposite order, and wait for each other.
$node->safe_psql('postgres', 'TRUNCATE idem.key, effect; CREATE SEQUENCE turn');
my $opposite = q{
	SELECT 2 * (nextval('turn') / 2 % 25 + 1) AS pair \gset
	\set one :pair + :client_id % 2
	\set two :pair + 1 - :client_id % 2
	BEGIN;
	SELECT claim(:one, wait => '50ms') AS first \gset
	\sleep 3 ms
	SELECT claim(:two, wait => '50ms') AS second \gset
	SELECT (':first' = 'claimed')::int AS mine_one, (':second' = 'claimed')::int AS mine_two,
	       ('in_progress' IN (':first', ':second'))::int AS busy \gset
	\if :busy
	ROLLBACK;
	\else
	\if :mine_one
	SELECT finish(:one);
	\endif
	\if :mine_two
	SELECT finish(:two);
	\endif
	COMMIT;
	\endif};
$node->pgbench('-n -c 2 -j 2 -t 150', 0,
	[qr{actually processed: 300/300}, qr{number of failed transactions: 0}],
	[qr{^(?!.*ERROR)}s],
	'C096: claims in opposite orders', { opposite => $opposite });
my $database = q{FROM pg_stat_database WHERE datname = 'postgres'};
my $rollbacks = ask($node, "SELECT xact_rollback $database");
cmp_ok($rollbacks, '>', 0, "C096: they got into each other's way, and drew back $rollbacks times");
is(ask($node, "SELECT deadlocks $database"), '0', 'C096: no deadlock');
is($node->safe_psql('postgres', 'SELECT count(pay(n)) FROM generate_series(2, 51) n'),
	'50', 'C096: whatever is left is paid');
is( $node->safe_psql('postgres', q{
		SELECT count(*), count(DISTINCT n),
		       (SELECT count(*) FROM idem_keys WHERE state = 'completed')
		FROM effect}),
	'50|50|50', 'C096: every effect exists once');

$node->stop;
done_testing();
