# Installing into a schema of one's choice, dropping, and installing again in one session.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl";

use PostgreSQL::Test::Cluster;
use PgIdem;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('install');
$node->init;
$node->start;

my $session = session($node);
my $other = session($node);

sub claim_in
{
	my ($schema, $n) = @_;
	return "SELECT outcome FROM $schema.idem_claim('acme', 'pay', '{\"n\": $n}')";
}

sub pay_in
{
	my ($schema, $n) = @_;
	return "SELECT outcome FROM $schema.idem_record('acme', 'pay', '{\"n\": $n}')";
}

my $define = q{idem_define('pay', key_fields => '{"n": "exact"}')};

is(ask($session, 'CREATE SCHEMA app; CREATE EXTENSION pg_idem SCHEMA app'),
	'', 'installs into a schema');
is( ask($session, q{
	SELECT count(*) FILTER (WHERE nspname = 'app') > 15, count(*) FILTER (WHERE nspname = 'public')
	FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace WHERE proname ~ '^idem_'}),
	't|0', 'its functions are in that schema, and nowhere else');
is(ask($session, "SELECT app.$define"), 'created', 'they need no search path: idem_define');
is(ask($session, pay_in('app', 1)), 'claimed', 'idem_record');
is(ask($session, 'SELECT count(*) FROM app.idem_keys'), '1', 'the views too');

ask($session, 'CREATE ROLE teller LOGIN; GRANT USAGE ON SCHEMA app TO teller');
$node->safe_psql('postgres', q{SELECT app.idem_grant('teller')});
my $teller = session($node, undef, extra_params => [ '-U', 'teller' ]);
is(ask($teller, pay_in('app', 1)), 'replayed', 'an application role claims after idem_grant');
is(ask($teller, "SELECT app.$define"), '42501', 'and does not define');
$teller->quit;

# Somebody's own objects stand on the extension's.
ask($session, q{
	CREATE VIEW paid AS SELECT key FROM app.idem_keys;
	CREATE TABLE last_claim (c idem.claim)});
is(ask($session, 'DROP EXTENSION pg_idem'),
	'2BP01', 'DROP EXTENSION refuses while something depends on it');

ask($other, 'BEGIN');
is(ask($other, claim_in('app', 2)), 'claimed', 'a session holds a claim');
is(ask($session, q{SET lock_timeout = '200ms'; DROP EXTENSION pg_idem CASCADE}),
	'55P03', 'DROP EXTENSION waits for it');
is( ask($other, q{
		SELECT app.idem_complete('acme', app.idem_key('acme', 'pay', '{"n": 2}')); COMMIT}),
	'completed', 'which commits');

is(ask($session, "BEGIN; " . pay_in("app", 3)), "claimed", "a session claims and completes");
is(ask($session, 'DROP EXTENSION pg_idem CASCADE; COMMIT'),
	'42704', 'and cannot commit after it has dropped the ledger');

is(ask($session, 'DROP EXTENSION pg_idem CASCADE'), '', 'DROP EXTENSION CASCADE');
is( ask($session, q{
	SELECT (SELECT count(*) FROM pg_namespace WHERE nspname = 'idem')
	     + (SELECT count(*) FROM pg_proc WHERE proname ~ '^idem_' OR probin ~ 'pg_idem')
	     + (SELECT count(*) FROM pg_class WHERE relname ~ '^idem_' OR relname = 'paid')
	+ (SELECT count(*) FROM pg_attribute
		WHERE attrelid = 'last_claim'::regclass AND attname = 'c')
	     + (SELECT count(*) FROM pg_extension WHERE extname = 'pg_idem')}),
	'0', 'leaves nothing');

# The sessions still know the old tables.
is(ask($session, 'CREATE EXTENSION pg_idem'), '', 'installs again, elsewhere, in the same session');
is(ask($session, claim_in('public', 1)), 'ID001', 'the old definitions are gone');
is(ask($session, "SELECT $define"), 'created', 'new ones can be made');
is(ask($session, pay_in('public', 1)), 'claimed', 'this session writes to the new ledger');
is(ask($other, pay_in('public', 1)), 'replayed', 'another old session reads it');
is(ask($other, pay_in('public', 2)), 'claimed', 'and writes to it');
is(ask($session, 'SELECT count(*) FROM idem.key'), '2', 'both keys are there');

$session->quit;
$other->quit;
$node->stop;
done_testing();
