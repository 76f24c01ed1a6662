# Policies and keys survive pg_dump, into another database and into another cluster.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl";

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use PgIdem;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('source');
$node->init;
$node->start;
my $fresh = PostgreSQL::Test::Cluster->new('target');
$fresh->init;
$fresh->start;
my $folder = PostgreSQL::Test::Utils::tempdir();

# Other OIDs and higher transaction ids than the target will have.
$node->safe_psql('postgres', q{
	CREATE DATABASE ledger;
	DO $$ BEGIN
		FOR i IN 1..300 LOOP
			CREATE TEMP TABLE t(); DROP TABLE t;
			COMMIT;
		END LOOP;
	END $$});
$node->safe_psql('ledger', q{CREATE SCHEMA app; CREATE EXTENSION pg_idem SCHEMA app});

# psql stops at the first error, so does pg_restore.
sub restore
{
	my ($from, $to, $source, $target, @options) = @_;
	my $file = "$folder/$target.dump";
	my $plain = !grep { $_ eq '-Fc' } @options;
	$to->safe_psql('postgres', "CREATE DATABASE $target TEMPLATE template0");
	$from->command_ok([ 'pg_dump', '-f', $file, @options, $source ], "pg_dump @options $source");
	my @restore = $plain ? qw(psql -Xq -v ON_ERROR_STOP=1 -f) : qw(pg_restore --exit-on-error);
	$to->command_ok([ @restore, ($plain ? $file : ()), '-d', $target, ($plain ? () : $file) ],
		"restored into $target without an error");
	return;
}

sub call
{
	my ($n, $operation) = @_;
	$operation //= 'pay';
	return "SELECT outcome FROM app.idem_claim('acme', '$operation', '{\"n\": $n}')";
}

restore($node, $fresh, 'ledger', 'empty');
is($fresh->safe_psql('empty', 'SELECT count(*) FROM idem.operation'),
	'0', 'C114: a dump of a fresh extension restores: it has no seed rows');

$node->safe_psql('ledger', q{
	SET search_path = app;
	SELECT idem_define('pay', key_fields => '{"n": "exact"}', retention => '10 days');
	SELECT idem_define('pay', retention => '20 days');
	SELECT idem_define('pay', retention => '15 days');
	SELECT idem_define('brief', key_fields => '{"n": "exact"}', retention => '1 microsecond');
	SELECT idem_define('call', key_fields => '{"n": "exact"}', effect => 'external',
	                   lease => '1 hour');
	SELECT idem_record('acme', 'pay', jsonb_build_object('n', n, 'note', 'x'), 'ref ' || n,
	                   '{"n": 9007199254740993}') FROM generate_series(1, 3) n;
	SELECT idem_record('acme', 'brief', jsonb_build_object('n', n)) FROM generate_series(1, 5) n;
	BEGIN;
	SELECT idem_claim('acme', 'pay', '{"n": 4}');
	SELECT idem_fail('acme', idem_key('acme', 'pay', '{"n": 4}'), '{"code": 7}');
	COMMIT;
	CREATE TABLE fence AS SELECT n, (idem_claim('acme', 'call', jsonb_build_object('n', n))).fence
		FROM generate_series(1, 2) n;
	SELECT idem_define('pay', version => 2, key_fields => '{"n": "number"}', key_prefix => 'p');
	SELECT idem_record('acme', 'pay', '{"n": 5}', 'ref 5');
	SELECT idem_define('apart', version => 1, key_fields => '{"a": "exact", "b": "exact"}');
	SELECT idem_define('apart', version => 2, key_fields => '{"a": "exact"}', unlinked => true);
	SELECT idem_define('apart', version => 3, key_fields => '{"a": "trim"}');
	SELECT idem_retire_version('apart', 2);
	-- Now the versions lie in another order in the table, and so in the dump.
	UPDATE idem.operation SET lease = '1 minute' WHERE operation = 'apart' AND version < 3;
	UPDATE idem.operation SET lease = '2 minutes' WHERE operation = 'apart' AND version = 2});
restore($node, $node, 'ledger', 'copy', '-Fc');
restore($node, $fresh, 'ledger', 'moved');
restore($node, $fresh, 'ledger', 'bare', '--schema-only');

cmp_ok($fresh->safe_psql('moved', 'SELECT pg_current_xact_id()'), '<',
	$node->safe_psql('ledger', 'SELECT pg_current_xact_id()'),
	'C115: the target has lower transaction ids');

for ([ $node, 'copy' ], [ $fresh, 'moved' ])
{
	my ($server, $database) = @$_;
	for my $table (qw(key alias operation retention_change))
	{
		my $rows = "SELECT string_agg(r::text, E'\\n' ORDER BY r::text) FROM idem.$table r";
		my $expected = $node->safe_psql('ledger', $rows);
		isnt($expected, '', "C113: idem.$table has rows");
		is($server->safe_psql($database, $rows),
			$expected, "C113: $database has the same rows of idem.$table");
	}
	my $session = session($server, $database);
	ask($session, 'SET search_path = app');
	for my $n (1 .. 3)
	{
		is( ask($session, "SELECT outcome, effect_ref, response
				FROM idem_claim('acme', 'pay', '{\"n\": $n, \"note\": \"x\"}')"),
			qq(replayed|ref $n|{"n": 9007199254740993}),
			"C113: a completed key is replayed, its receipt whole ($n, $database)");
	}
	is( ask($session, q{SELECT outcome, effect_ref
			FROM app.idem_claim('acme', 'pay', '{"n": 5}', version => 1)}),
		'replayed|ref 5',
		"C137: a client of the old version finds a key of the new one ($database)");
	is(ask($session, call(1)), 'conflict', "C113: another request under it is not ($database)");
	is(ask($session, call(4)), 'failed', "C113: a failed one says so ($database)");
	is(ask($session, call($_, 'call')),
		'in_progress', "C115: a lease is still in force ($_, $database)") for 1, 2;
	is( ask($session, q{
			SELECT idem_complete('acme', idem_key('acme', 'call', '{"n": 1}'), 'x', fence => fence)
			FROM fence WHERE n = 1}),
		'completed', "C115: its owner finishes it with the old fence ($database)");
	is( ask($session, q{
			SELECT idem_unknown('acme', idem_key('acme', 'call', '{"n": 2}'), fence)
			FROM fence WHERE n = 2;} . call(2, 'call')),
		"unknown\nunresolved", "C115: or gives it up ($database)");
	is( ask($session, q{
			SELECT idem_resolve('acme', idem_key('acme', 'call', '{"n": 2}'), 'retry');
			SELECT outcome, attempt FROM idem_claim('acme', 'call', '{"n": 2}')}),
		"released\nclaimed|2", "C115: the next attempt takes it over ($database)");
	is(ask($session, 'SELECT idem_expire()'), '5', "C115: expiry works ($database)");
	is(ask($session, q{SELECT idem_define('pay', version => 1, key_fields => '{"n": "number"}')}),
		'ID003', "a frozen recipe is frozen still ($database)");
	is( ask($session, q{
			SELECT idem_define('new', identity => 'arguments');
			SELECT max(id) FROM idem.operation}),
		"created\n8", "a new operation gets the next id ($database)");
	$session->quit;
}

is( $fresh->safe_psql('bare',
		'SELECT (SELECT count(*) FROM idem.operation), (SELECT count(*) FROM idem.key)'),
	'0|0', 'a dump without data restores, without policies and keys');
is( $fresh->safe_psql('bare', q{
		SELECT app.idem_define('pay', key_fields => '{"n": "exact"}');
		SELECT outcome FROM app.idem_record('acme', 'pay', '{"n": 1}')}),
	"created\nclaimed", 'and works');

$node->stop;
$fresh->stop;
done_testing();
