# Transactions that procedures end, chained ones, cursors that outlive theirs, and a session that
# talks to itself.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl";

use PgIdem;
use Test::More;

my $node = new_server('procedures');
$node->safe_psql('postgres', q{
	CREATE PROCEDURE pay_all(first int, last int) LANGUAGE plpgsql AS $$
	BEGIN FOR n IN first..last LOOP PERFORM pay(n); COMMIT; END LOOP; END $$;
	CREATE PROCEDURE leave_open(paid int, open int) LANGUAGE plpgsql AS $$
	BEGIN PERFORM pay(paid); COMMIT;
		PERFORM claim(open); INSERT INTO effect VALUES (open); COMMIT; END $$;
	CREATE PROCEDURE change_mind(n int) LANGUAGE plpgsql AS $$
	BEGIN PERFORM pay(n); ROLLBACK; PERFORM pay(n); PERFORM pay(n); COMMIT; END $$});
my $session = session($node);
my $other = session($node);

sub paid
{
	my ($first, $last) = @_;
	return $node->safe_psql('postgres', "
		SELECT coalesce(string_agg(n::text, ' ' ORDER BY n), '') FROM effect
		WHERE n BETWEEN $first AND $last AND look_up(n) = 'replayed'");
}

is(ask($session, 'CALL pay_all(1, 3); CALL pay_all(2, 5)'), '', 'a procedure commits each payment');
is(paid(1, 5), '1 2 3 4 5', 'one effect each');
is(ask($session, 'CALL leave_open(6, 7)'),
	'ID025', 'COMMIT in a procedure refuses a claim left open');
is(paid(6, 7), '6', 'what was committed before it stays, the rest is gone');
is(ask($session, 'SELECT pay(7)'), 'claimed', 'and can be claimed in the same session');
is(ask($session, 'CALL change_mind(8)'), '', 'a procedure rolls back and pays again');
is(paid(7, 8), '7 8', 'one effect each');
is(ask($session, q{DO $$ BEGIN PERFORM pay(9); COMMIT; PERFORM pay(10); ROLLBACK; END $$}),
	'', 'a DO block likewise');
is(paid(9, 10), '9', 'what it committed is there');

is( ask($session, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pay(11); COMMIT AND CHAIN;
		SELECT pay(11), pay(12); SHOW transaction_isolation; COMMIT'),
	"claimed\nreplayed|claimed\nrepeatable read", 'COMMIT AND CHAIN');
is(ask($session, 'BEGIN; SELECT pay(13); ROLLBACK AND CHAIN; SELECT pay(13); COMMIT'),
	"claimed\nclaimed", 'ROLLBACK AND CHAIN');
is(ask($session, 'BEGIN; SELECT claim(14); COMMIT AND CHAIN'),
	'ID025', 'COMMIT AND CHAIN refuses a claim left open');
is(ask($session, 'ROLLBACK; SELECT pay(14)'), 'claimed', 'and leaves nothing behind');
is(paid(11, 14), '11 12 13 14', 'one effect each');

is( ask($session, 'BEGIN; DECLARE c CURSOR WITH HOLD FOR
		SELECT pay(n) FROM generate_series(21, 23) n; FETCH c; COMMIT;
		FETCH ALL FROM c; CLOSE c'),
	"claimed\nclaimed\nclaimed", 'COMMIT runs a cursor WITH HOLD to its end');
is(paid(21, 23), '21 22 23', 'before the claims are written');

# A cursor of the outer level, fetched in a savepoint: the claim belongs to the savepoint.
is( ask($session, 'BEGIN; DECLARE c CURSOR FOR SELECT pay(n) FROM generate_series(31, 33) n;
		SAVEPOINT s; FETCH c; ROLLBACK TO s'),
	'claimed', 'a claim by a fetch in a savepoint');
is(ask($other, 'SELECT pay(31)'), 'claimed', 'goes with it, its lock as well');
is(ask($session, 'COMMIT'), '', 'the rest commits');
is( ask($session, 'BEGIN; DECLARE c CURSOR FOR SELECT pay(n) FROM generate_series(32, 33) n;
		SAVEPOINT s; FETCH c; RELEASE s; CLOSE c'),
	'claimed', 'a claim by a fetch in a savepoint that is released');
is(ask($other, 'SELECT claim(32)'), 'in_progress', 'outlives savepoint and cursor');
is(ask($session, 'COMMIT'), '', 'to the end');
is(paid(31, 33), '31 32', 'one effect each');

# A second connection from within the first: nobody could see that the two wait for each other.
$node->safe_psql('postgres', 'CREATE EXTENSION dblink');
my $self = $node->connstr('postgres') =~ s/'/''/gr;
my $through = sub { "SELECT answer FROM dblink('$self', '$_[0]') AS r(answer text)" };
is(ask($session, 'BEGIN; SELECT claim(41); ' . $through->('SELECT claim(41)')),
	"claimed\nin_progress", 'a claim through dblink meets the one of the session that asks');
is(ask($session, $through->('SELECT claim(41, wait => interval $$300 ms$$)')),
	'in_progress', 'a wait ends by itself');
is(ask($session, $through->('SELECT pay(42)')), 'claimed', 'another key is paid through dblink');
is(ask($session, 'SELECT finish(41), pay(42); COMMIT'), 'completed|replayed', 'and both are done');
is(paid(41, 42), '41 42', 'one effect each');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_locks WHERE locktype = 'userlock'}),
	'0', 'no key is locked');

$_->quit for $session, $other;
$node->stop;
done_testing();
