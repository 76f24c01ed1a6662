# Claims of keys that expiry deletes at the same moment: the clock decides, not whether the row is
# still there.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl";

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use PgIdemWorker;
use Test::More;

my $node = worker_server('claims', 'pg_idem.expire_interval' => 0);
$node->start;
add_ledger($node, 'postgres');
$node->safe_psql('postgres', q{
	SELECT idem_define('brief', key_fields => '{"n": "exact"}', retention => '1 second');
	SELECT idem_define('call', key_fields => '{"n": "exact"}', effect => 'external', lease => '1 second',
	                   retention => '1 second')});

sub sql
{
	return $node->safe_psql('postgres', $_[0]);
}

# C118: nothing of the ledger is lost in a crash. What expiry remembers of the blocks may be.
is( sql(q{SELECT string_agg(DISTINCT relpersistence::text, '') FROM pg_class c
	JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
	WHERE relkind IN ('r', 'S', 'm') AND c.oid <> 'idem.sweep'::regclass}),
	'p', 'C118: every table of the extension is permanent, except what can be lost at any time');
my $hundred = q{SELECT outcome, count(*) FROM generate_series(1, 100) n,
	idem_record('acme', 'pay', jsonb_build_object('n', n), n::text) GROUP BY outcome};
is(sql($hundred), 'claimed|100', 'C118: a hundred keys');
sql('SELECT idem_expire()');
is(sql('SELECT count(*) > 0 FROM idem.sweep'), 't', 'C118: expiry has looked at them');
$node->stop('immediate');
$node->start;
is(sql($hundred), 'replayed|100', 'C118: all of them are replayed after a crash');
is(sql('SELECT idem_expire() FROM (SELECT count(*) FROM idem.sweep HAVING count(*) = 0) s'),
	'0', 'C118: expiry starts anew with an empty memory, and deletes none of them');

# C023: an external claim that is not finished, past its lease and what would be its life.
my ($key, $fence) = split /\|/, sql(q{SELECT key, fence FROM idem_claim('acme', 'call', '{"n": 1}')});
wait_for($node, 'postgres', "SELECT bool_and(lease_end + interval '1 second' < clock_timestamp()) FROM idem.key WHERE state = 'o'");
is(sql('SELECT idem_expire()'), '0', 'C023: an unfinished claim is not deleted');
is(sql(qq{SELECT idem_complete('acme', '$key', 'ref', fence => $fence)}),
	'completed', 'C023: its owner finishes it');
wait_for($node, 'postgres', "SELECT bool_and(completed_at + interval '1 second' < clock_timestamp()) FROM idem.key WHERE effect_ref = 'ref'");
is(sql('SELECT idem_expire()'), '1', 'C023: a second after that it is deleted');
my (undef, undef, $error) = $node->psql('postgres',
	qq{\\set VERBOSITY sqlstate\nSELECT idem_complete('acme', '$key', 'ref', fence => $fence)});
like($error, qr/ID021/, 'C023: to finish it again is refused');
is(sql("SELECT count(*) FROM idem.key WHERE effect_ref = 'ref'"), '0', 'C023: and brings no row back');

# C030: past its life, not deleted.
my $brief = q{('acme', 'brief', '{"n": 1}')};
sql("SELECT idem_record$brief");
wait_for($node, 'postgres', "SELECT bool_and(completed_at + interval '1 second' < clock_timestamp()) FROM idem.key WHERE policy = 2");
is(sql("SELECT count(*) FROM idem.key WHERE policy = 2"), '1', 'C030: the row is still there');
my ($one, $two) = map { $node->background_psql('postgres') } 1 .. 2;
$_->query_safe('BEGIN') for $one, $two;
is($one->query_safe("SELECT outcome FROM idem_claim$brief"), 'claimed', 'C030: the first of two claims owns it');
is($two->query_safe("SELECT outcome FROM idem_claim$brief"), 'in_progress', 'C030: the second does not');
is(sql('SELECT idem_expire()'), '0', 'C030: expiry leaves a key alone that somebody is claiming');
$one->query_safe(q{SELECT idem_complete('acme', idem_key('acme', 'brief', '{"n": 1}'), 'new')});
$one->query_safe('COMMIT');
is($two->query_safe("SELECT outcome, effect_ref FROM idem_claim$brief"),
	'replayed|new', 'C030: and then is told of the first');
$two->query_safe('ROLLBACK');

# C033: B is turned away, then A's key is deleted and claimed anew, and B asks again.
my $request = q{idem_claim('acme', 'pay', '{"n": "x", "q": %d}')};
my $first = sprintf $request, 1;
$one->query_safe('BEGIN');
$one->query_safe("SELECT $first");
is($two->query_safe("SELECT outcome FROM $first"), 'in_progress', 'C033: B is turned away');
my $complete = q{SELECT idem_complete('acme', idem_key('acme', 'pay', '{"n": "x"}'), 'ref')};
$one->query_safe($complete);
$one->query_safe('COMMIT');
sql(q{UPDATE idem.key SET completed_at = now() - interval '2 days' WHERE effect_ref = 'ref'; DELETE FROM idem.sweep});
is(sql('SELECT idem_expire()'), '1', 'C033: the key is deleted');
$one->query_safe('BEGIN');
is($one->query_safe("SELECT outcome FROM $first"), 'claimed', 'C033: A claims it anew');
$one->query_safe($complete);
$one->query_safe('COMMIT');
is($two->query_safe("SELECT outcome FROM $first"), 'replayed', 'C033: B is told what is true now');
is($two->query_safe('SELECT outcome FROM ' . sprintf($request, 2)),
	'conflict', 'C033: with another request, that it is another one');
$_->quit for $one, $two;

# VACUUM FULL puts rows into other blocks, of which expiry remembers something else.
sql('CREATE DATABASE moved');
add_ledger($node, 'moved');
add_expired($node, 'moved', 20000);
$node->safe_psql('moved', q{
	INSERT INTO idem.key (key, completed_at, elapsed, policy, state, tenant, effect_ref)
		SELECT gen_random_uuid(), now() - interval '59 minutes 57 seconds', 5, 1, 'c', 'acme', 'soon'
		FROM generate_series(1, 10) n;
	SELECT idem_expire(20000);
	SELECT idem_expire(20000)});
is(keys_left($node, 'moved'), '10', 'expiry has read the whole table');
$node->safe_psql('moved', 'VACUUM FULL idem.key');
wait_for($node, 'moved', "SELECT bool_and(completed_at + interval '1 hour' < clock_timestamp()) FROM idem.key");
is($node->safe_psql('moved', 'SELECT idem_expire()'), '10', 'rows that VACUUM FULL has moved are deleted when they are due');

# C031: two thousand keys past their life, claimed in random order by two sessions each, while others
# delete them in small batches.
sql(q{
	TRUNCATE effect;
	INSERT INTO idem.key (key, completed_at, elapsed, policy, state, tenant, effect_ref)
		SELECT replace(substr(idem_key('acme', 'pay', jsonb_build_object('n', n)), 5), '-', '')::uuid,
		       now() - interval '2 days', 5, 1, 'c', 'acme', 'old'
		FROM generate_series(1001, 3000) n;
	DELETE FROM idem.sweep;
	CREATE TABLE bad (n int, outcome text);
	CREATE PROCEDURE claim_all() LANGUAGE plpgsql AS $$
	DECLARE
		n int;
		request jsonb;
		answer idem.claim;
	BEGIN
		FOR n IN SELECT i FROM generate_series(1001, 3000) i ORDER BY random() LOOP
			request := jsonb_build_object('n', n);
			answer := idem_claim('acme', 'pay', request, wait => '1 minute');
			IF answer.action = 'do' THEN
				INSERT INTO effect VALUES (n::text);
				PERFORM idem_complete('acme', answer.key, 'new');
			ELSIF answer.outcome <> 'replayed' OR answer.effect_ref <> 'new' THEN
				INSERT INTO bad VALUES (n, answer.outcome);
			END IF;
			COMMIT;
			answer := idem_lookup('acme', 'pay', request);
			IF answer.effect_ref IS DISTINCT FROM 'new' THEN
				INSERT INTO bad VALUES (n, 'lost');
			END IF;
			COMMIT;
		END LOOP;
	END $$;
	CREATE PROCEDURE expire_all() LANGUAGE plpgsql AS $$
	BEGIN
		WHILE EXISTS (SELECT FROM idem.key WHERE effect_ref = 'old') LOOP
			COMMIT;
			PERFORM idem_expire(3);
			COMMIT;
		END LOOP;
	END $$});
my @sessions = map { $node->background_psql('postgres') } 1 .. 3;
$sessions[$_]->query_until(qr/off/, "\\echo off\nCALL " . ($_ < 2 ? 'claim_all' : 'expire_all') . "();\n")
  for 0 .. 2;
$_->query_safe('SELECT 1') for @sessions;
$_->quit for @sessions;
is(sql('SELECT count(*) FROM bad'), '0', 'C031: whoever is told claimed finds the row after its commit')
  or diag(sql('SELECT outcome, count(*) FROM bad GROUP BY outcome'));
is(sql('SELECT count(*), count(DISTINCT n) FROM effect'), '2000|2000', 'C031: one effect each');
is(sql("SELECT effect_ref, count(*) FROM idem.key WHERE policy = 1 AND effect_ref IN ('old', 'new') GROUP BY 1"),
	'new|2000', 'C031: one row each');

$node->stop;
done_testing();
