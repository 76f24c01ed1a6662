# Every session goes by the definitions that are in force, and the extension by its own operators,
# whatever snapshot, lock or planted object stands in between. Counted at the effect.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl";

use PgIdem;
use Test::More;

my $node = new_server('definitions');
$node->safe_psql('postgres', q{
	SELECT idem_define(o, key_fields => '{"n": "exact"}') FROM unnest('{plain, parallel, waited}'::text[]) o;
	CREATE TABLE numbers AS SELECT generate_series(1, 1000) AS n;
	CREATE FUNCTION once(operation text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		answer idem.claim := idem_claim('acme', operation, '{"n": 1, "m": 1}');
	BEGIN
		IF answer.action = 'do' THEN
			INSERT INTO effect VALUES (1);
			PERFORM idem_complete('acme', answer.key);
		END IF;
		RETURN answer.outcome;
	END $$});
my $other_recipe = q{key_fields => '{"m": "exact"}'};

# A snapshot that is older than a key does not unfreeze its recipe, nor lets its operation be dropped.
for my $level ('REPEATABLE READ', 'SERIALIZABLE')
{
	my $old = session($node);
	ask($old, "BEGIN ISOLATION LEVEL $level; SELECT count(*) FROM effect");
	ask($node, q{SELECT once('plain')});
	is(ask($old, "SELECT idem_define('plain', $other_recipe)"), 'ID003', "$level: the recipe is frozen");
	ask($old, "ROLLBACK; BEGIN ISOLATION LEVEL $level; SELECT count(*) FROM effect");
	is(ask($old, q{SELECT idem_drop_operation('plain')}), 'ID004', "$level: the operation stays");
	ask($old, 'ROLLBACK');
	$old->quit;
}
is(ask($node, q{SELECT once('plain')}), 'replayed', 'and the key is recognised');

# A policy that was read in a parallel query, with its old snapshot, is read again after it.
my $session = session($node);
ask($session, q{SELECT idem_key('acme', 'parallel', '{"n": 1}')});
ask($session, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM effect');
is(ask($node, "SELECT idem_define('parallel', $other_recipe); SELECT once('parallel')"),
	"changed\nclaimed", 'another recipe, and a claim under it');
ask($session, q{
	SET LOCAL force_parallel_mode = on; SET LOCAL parallel_setup_cost = 0; SET LOCAL parallel_tuple_cost = 0;
	SET LOCAL min_parallel_table_scan_size = 0;
	SELECT count(idem_key('acme', 'parallel', jsonb_build_object('n', n, 'm', n))) FROM numbers;
	COMMIT});
is(ask($session, q{SELECT once('parallel')}), 'replayed', 'the session claims under it as well');

# So is one whose reading had to wait for a change of the table.
my $changer = session($node);
ask($changer, q{BEGIN; LOCK TABLE idem.operation IN ACCESS EXCLUSIVE MODE; ALTER TABLE idem.operation SET (fillfactor = 90)});
my $reader = session($node);
send_off($reader, q{SELECT idem_key('acme', 'waited', '{"n": 1}')});
wait_for($node, q{SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock')});
ask($changer, 'COMMIT');
ask($reader, 'SELECT 1');
is(ask($node, "SELECT idem_define('waited', $other_recipe); SELECT once('waited')"),
	"changed\nclaimed", 'another recipe, and a claim under it');
is(ask($reader, q{SELECT once('waited')}), 'replayed', 'the session that waited claims under it as well');
is(ask($node, 'SELECT count(*) FROM effect'), '3', 'one effect of each operation');
$_->quit for $session, $changer, $reader;

# C081: an operator that somebody planted before CREATE EXTENSION is not the one that the views use.
$node->safe_psql('postgres', 'CREATE DATABASE planted');
$node->safe_psql('planted', q{
	CREATE TABLE witness (who text);
	CREATE FUNCTION planted(int, interval) RETURNS interval LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO witness VALUES (current_user);
		RETURN $2;
	END $$;
	CREATE OPERATOR public.* (LEFTARG = int, RIGHTARG = interval, FUNCTION = planted);
	CREATE EXTENSION pg_idem;
	SELECT idem_define('pay', identity => 'arguments');
	SELECT FROM idem_record('acme', 'pay', '{"n": 1}');
	SELECT FROM (SELECT claimed_at FROM idem_keys OFFSET 0) s WHERE claimed_at IS NOT NULL});
is($node->safe_psql('planted', 'SELECT count(*) FROM witness'), '0', 'C081: nobody else\'s operator ran');
is( $node->safe_psql('planted', q{
		SELECT count(*) FROM pg_depend d
		JOIN pg_rewrite r ON r.oid = d.objid AND d.classid = 'pg_rewrite'::regclass
		WHERE r.ev_class IN ('idem_keys'::regclass, 'idem_operations'::regclass)
		  AND d.refclassid IN ('pg_operator'::regclass, 'pg_proc'::regclass)}),
	'0', 'C081: the views depend on what comes with the server only');

done_testing();
