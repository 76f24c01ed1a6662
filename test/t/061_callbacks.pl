# What runs at COMMIT beside the flush of claims: deferred triggers, another module's callbacks, and
# claims that come too late.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl";

use PgIdem;
use Test::More;

my $node = new_server('callbacks');
my ($host, $port) = ($node->host, $node->port);
$node->safe_psql('postgres', 'CREATE DATABASE remote');
$node->safe_psql('remote',
	'CREATE TABLE effect (n int NOT NULL UNIQUE DEFERRABLE INITIALLY DEFERRED)');
$node->safe_psql('postgres', qq{
	CREATE EXTENSION postgres_fdw;
	CREATE SERVER remote FOREIGN DATA WRAPPER postgres_fdw
		OPTIONS (host '$host', port '$port', dbname 'remote');
	CREATE USER MAPPING FOR PUBLIC SERVER remote;
	CREATE FOREIGN TABLE remote_effect (n int NOT NULL) SERVER remote
		OPTIONS (table_name 'effect')});

# A ledger row by raw SQL stands in the way of ours, which fails at COMMIT. Callbacks run in the
# reverse order of their registration: pg_idem's at load, postgres_fdw's when a session first
# reaches out.
my $n = 0;

sub pay_remotely
{
	my ($how, $session) = @_;
	++$n;
	is( ask($session, "BEGIN; SELECT claim($n); INSERT INTO remote_effect VALUES ($n);
			SELECT idem_complete('acme', key_of($n))"),
		"claimed\ncompleted", "a claim with a remote effect ($how)");
	$node->safe_psql('postgres', qq{
		INSERT INTO idem.key (key, completed_at, policy, state, tenant)
		SELECT right(key_of($n), 32)::uuid, now(), id, 'c', 'acme' FROM idem.operation
		WHERE operation = 'pay'});
	is(ask($session, 'COMMIT'), '40001', "its row cannot be written ($how)");
	is($node->safe_psql('remote', "SELECT count(*) FROM effect WHERE n = $n"),
		'0', "nothing is committed remotely ($how)");
	return;
}

for ([ 'pg_idem', 'postgres_fdw' ], [ 'postgres_fdw', 'pg_idem' ])
{
	my ($first, $second) = @$_;
	my $session = session($node);
	ask($session, "LOAD '$first'; LOAD '$second'");
	pay_remotely("$first was loaded first, first use of the connection after the claim", $session);
	pay_remotely("$first was loaded first, the connection was used before", $session);
	++$n;
	is(ask($session, "BEGIN; SELECT claim($n); INSERT INTO remote_effect VALUES ($n); COMMIT"),
		'ID025', 'a claim is left open');
	is($node->safe_psql('remote', "SELECT count(*) FROM effect WHERE n = $n"),
		'0', 'nothing is committed remotely');
	++$n;
	is( ask($session, "BEGIN; SELECT claim($n); INSERT INTO remote_effect VALUES ($n);
			SELECT idem_complete('acme', key_of($n)); COMMIT"),
		"claimed\ncompleted", 'without a fault');
	is($node->safe_psql('remote', "SELECT count(*) FROM effect WHERE n = $n"),
		'1', 'it is committed remotely');
	$session->quit;
}

# A remote COMMIT that fails comes after our rows were inserted, and takes them back.
my $session = session($node);
my $both = 'BEGIN; SELECT claim(30);
	INSERT INTO remote_effect VALUES (30); INSERT INTO effect VALUES (30);
	SELECT idem_complete($$acme$$, key_of(30)); COMMIT';
is(ask($session, "INSERT INTO remote_effect VALUES (30); $both"),
	'23505', 'the remote server refuses to commit');
is( ask($session, q{SELECT (SELECT count(*) FROM effect), look_up(30) IS NULL,
		(SELECT count(*) FROM pg_locks WHERE locktype = 'userlock')}),
	'0|t|0', 'no effect, no key, no lock');
is(ask($session, "DELETE FROM remote_effect WHERE n = 30; $both"),
	"claimed\ncompleted", 'and the next attempt owns it');
ask($session, 'TRUNCATE effect');
$session->quit;

# Deferred triggers run before the flush.
$node->safe_psql('postgres', q{
	CREATE TABLE invoice (n int NOT NULL);
	CREATE FUNCTION pay_invoice() RETURNS trigger LANGUAGE plpgsql AS
		'BEGIN PERFORM pay(NEW.n); RETURN NULL; END';
	CREATE CONSTRAINT TRIGGER pay AFTER INSERT ON invoice DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION pay_invoice()});
is(ask($node, 'INSERT INTO invoice VALUES (11), (12), (11)'), '', 'a deferred trigger claims');
is(ask($node, q{SELECT string_agg(n::text, ' ' ORDER BY n) FROM effect}),
	'11 12', 'one effect each');
is(ask($node, 'SELECT claim(n) FROM generate_series(11, 12) n'),
	"replayed\nreplayed", 'and their keys');

# An index expression on the ledger runs in the flush, where a claim would be lost.
$node->safe_psql('postgres', q{
	CREATE FUNCTION pay_in_flush(key uuid) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
		$$BEGIN RETURN length(pay(99)); END$$;
	TRUNCATE idem.key, effect;
	CREATE INDEX late ON idem.key (pay_in_flush(key))});
is(ask($node, 'SELECT pay(20)'), 'ID026', 'a claim in the flush of claims is an error');
is(ask($node, 'SELECT (SELECT count(*) FROM effect), (SELECT count(*) FROM idem.key)'),
	'0|0', 'which nothing survives');
$node->safe_psql('postgres', 'DROP INDEX idem.late');
is(ask($node, 'SELECT pay(20)'), 'claimed', 'without it the payment goes through');

$node->stop;
done_testing();
