# Crashes: of a backend, of a client and of the server, at every moment of a claim's life.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl";

use PgIdem;
use Test::More;

my $node = new_server('crash');

# A gate in the flush of claims: an index expression runs when the row is inserted, before COMMIT.
$node->safe_psql('postgres', q{
	CREATE FUNCTION gate(key uuid) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
		'BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN 1; END';
	CREATE INDEX gate ON idem.key (gate(key))});

sub state_of
{
	my ($n) = @_;
	return $node->safe_psql('postgres', "
		SELECT (SELECT count(*) FROM effect WHERE n = $n) || ' effects, '
		    || (SELECT count(*) FROM idem_keys WHERE key = key_of($n)) || ' rows'");
}

# A session with the effect of intent n done and, when the gate is shut, its COMMIT waiting there.
sub start_payment
{
	my ($n, $commit) = @_;
	my $session = session($node);
	my $pid = ask($session, 'SELECT pg_backend_pid()');
	is(ask($session, "BEGIN; SELECT claim($n); SELECT finish($n)"),
		"claimed\ncompleted", "intent $n is claimed, its effect done");
	if ($commit)
	{
		send_off($session, 'COMMIT');
		wait_for($node, "SELECT wait_event = 'advisory' FROM pg_stat_activity WHERE pid = $pid");
	}
	return ($session, $pid);
}

sub kill_backend
{
	my ($session, $pid) = @_;
	kill 'KILL', $pid;
	# The postmaster restarts everything; until then connections are refused.
	wait_for($node, "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $pid)");
	hang_up($session);
	return;
}

sub shut_gate
{
	my $gatekeeper = session($node);
	ask($gatekeeper, 'SELECT pg_advisory_lock(1)');
	return $gatekeeper;
}

my ($session, $pid) = start_payment(1);
kill_backend($session, $pid);
is(state_of(1), '0 effects, 0 rows', 'kill -9 while claimed leaves neither effect nor row');
is(ask($node, 'SELECT pay(1)'), 'claimed', 'and the next claim owns the key');
is(state_of(1), '1 effects, 1 rows', 'once');

my $gatekeeper = shut_gate();
($session, $pid) = start_payment(2, 1);
is(ask($node, 'SELECT claim(2)'), 'in_progress', 'while COMMIT waits, the claim is in progress');
kill_backend($session, $pid);
hang_up($gatekeeper);
is(state_of(2), '0 effects, 0 rows', 'kill -9 in COMMIT leaves neither effect nor row');
is(ask($node, 'SELECT pay(2)'), 'claimed', 'and the next claim owns the key');

$gatekeeper = shut_gate();
($session, $pid) = start_payment(3, 1);
is(ask($node, "SELECT pg_terminate_backend($pid, 60000)"),
	't', 'a backend is terminated in COMMIT');
is(state_of(3), '0 effects, 0 rows', 'neither effect nor row');
is(ask($gatekeeper, 'SELECT pay(3)'), 'claimed', 'and the next claim owns the key');
hang_up($session);

($session, $pid) = start_payment(4, 1);
hang_up($session);
is(ask($node, 'SELECT claim(4)'),
	'in_progress', 'C151: a client that is gone does not stop its COMMIT');
$gatekeeper->quit;
wait_for($node, "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $pid)");
is(ask($node, 'SELECT pay(4)'), 'replayed', 'C151: the retry after a lost answer is a replay');
is(state_of(4), '1 effects, 1 rows', 'C151: one effect');

# An immediate shutdown is a crash of everything.
($session, $pid) = start_payment(5);
is(ask($node, q{SELECT string_agg(DISTINCT relpersistence::text, '') FROM pg_class
		WHERE relnamespace = 'idem'::regnamespace AND relkind IN ('r', 'i', 't')
		  AND relname !~ '^sweep'}),
	'p', 'C118: every table is permanent, but the one that may be lost at any time');
is(ask($node, 'SELECT count(*) FROM generate_series(101, 200) n WHERE pay(n) = \'claimed\''),
	'100', 'C118: a hundred payments');
$node->stop('immediate');
hang_up($session);
$node->start;
is(ask($node, 'SELECT count(*) FROM generate_series(101, 200) n WHERE pay(n) = \'replayed\''),
	'100', 'C118: replayed after an immediate shutdown');
is(ask($node, 'SELECT count(*), count(DISTINCT n) FROM effect WHERE n > 100'),
	'100|100', 'C118: one effect each');
is(state_of(5),
	'0 effects, 0 rows', 'an immediate shutdown while claimed leaves neither effect nor row');
is(ask($node, 'SELECT pay(5)'), 'claimed', 'and the next claim owns the key');

# C117: the walwriter would write an asynchronous commit within ten seconds, not at once.
$node->append_conf('postgresql.conf', 'wal_writer_delay = 10s');
$node->restart;
is(ask($node, q{SET synchronous_commit = off; SELECT claim(6, 'call')}),
	'claimed', 'C117: an external claim, asynchronously');
$node->stop('immediate');
$node->start;
is(ask($node, q{SELECT claim(6, 'call')}), 'in_progress', 'C117: survives an immediate shutdown');

# External claims: what is committed open stays, bounded by its lease.
my $call = q{idem_claim('acme', 'call', '{"n": 7}', lease => '3 seconds')};
my @sessions = map { session($node) } 1 .. 3;
my $owner = session($node);
is(ask($owner, "SELECT outcome FROM $call"), 'claimed', 'C021: an owner commits its claim');
hang_up($owner);
is(ask($_, "SET lock_timeout = '200ms'; SELECT outcome FROM $call"),
	'in_progress', 'C021: others learn it without waiting')
  for @sessions;
is( ask($sessions[0],
		"SELECT outcome, fence IS NULL, retry_after BETWEEN '0' AND '3 seconds' FROM $call"),
	'in_progress|t|t', 'C157: so does the owner that lost its answer, and how long it may last');
wait_for($node, "SELECT outcome = 'unresolved' FROM $call");
is(ask($sessions[1], "SET lock_timeout = '200ms'; SELECT outcome, action FROM $call"),
	'unresolved|stop', 'C157: never beyond the lease; then a person decides');

# Whoever waits for a claim stops at once when the server does: $node->stop fails after a minute.
is(ask($sessions[0], 'BEGIN; SELECT claim(8)'), 'claimed', 'a claim is held');
send_off($sessions[1], q{SELECT claim(8, wait => '1 hour')});
wait_for($node, q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Extension'});
$node->stop('fast');
pass('a fast shutdown waits neither for it nor for who waits for it');
hang_up($_) for @sessions;
done_testing();
