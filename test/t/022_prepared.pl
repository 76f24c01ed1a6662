# Two-phase commit: a prepared claim keeps its key through a crash, until it is decided.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl";

use PgIdem;
use Test::More;

my $node = new_server('prepared', conf => 'max_prepared_transactions = 5');

my $locks = q{
	SELECT count(*) FROM pg_locks WHERE locktype = 'userlock' AND granted AND pid IS NULL};

my $open = session($node);
is(ask($open, q{BEGIN; SELECT claim(9); PREPARE TRANSACTION 'open'}),
	'ID025', 'a claim left open cannot be prepared');
is(ask($open, 'SELECT count(*) FROM pg_prepared_xacts'), '0', 'nor is it');
$open->quit;

for (1, 2, 3)
{
	is( ask($node, "BEGIN; SELECT claim($_); SELECT finish($_); PREPARE TRANSACTION 'p$_';
			SELECT claim($_)"),
		"claimed\ncompleted\nin_progress",
		"C098: intent $_ is prepared, and in progress for the session that did it");
}
# External: prepared open, so it is sent from the commit on.
is(ask($node, q{BEGIN; SELECT claim(4, 'call'); PREPARE TRANSACTION 'p4'}),
	'claimed', 'an external claim is prepared');
is(ask($node, $locks), '4', 'each holds its key');

# A batch: most of its rows are written before PREPARE, and their locks given back.
is( ask($node, q{
		BEGIN;
		SELECT count(*) FROM generate_series(101, 300) n WHERE pay(n) = 'claimed';
		PREPARE TRANSACTION 'batch'}),
	'200', 'a batch of two hundred is prepared');
my $held = ask($node, $locks) - 4;
cmp_ok($held, '<=', 64, "it holds $held locks");

$node->stop('immediate');
$node->start;
is(ask($node, $locks), $held + 4, 'C098: and they have them again after a crash');
is(ask($node, "SELECT claim($_)"), 'in_progress', "intent $_ is in progress") for 1 .. 3;
is(ask($node, q{SELECT claim(4, 'call')}), 'in_progress', 'so is the external one');
is(ask($node, q{SELECT count(*) FROM generate_series(101, 300) n WHERE claim(n) = 'in_progress'}),
	'200', 'so is the batch');
is(ask($node, 'SELECT count(*) FROM effect'), '0', 'no effect is there yet');

# C098: a forgotten one stands in the way of nobody else.
$node->safe_psql('postgres', q{
	SELECT idem_define('brief', key_fields => '{"n": "exact"}', retention => '1 microsecond');
	DO $$ BEGIN
		FOR i IN 1..10000 LOOP
			PERFORM idem_record('acme', 'brief', jsonb_build_object('n', i));
			IF i % 1000 = 0 THEN COMMIT; END IF;
		END LOOP;
	END $$});
is(ask($node, 'SELECT idem_expire(20000)'), '10000', 'C098: expiry removes all the others');

my $waiting = session($node);
send_off($waiting, q{BEGIN; SELECT claim(1, wait => '3 minutes')});
wait_for($node, q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Extension'});
$node->safe_psql('postgres', q{COMMIT PREPARED 'p1'});
is(ask($waiting, 'COMMIT'),
	'replayed', 'who waits for a prepared claim learns that it was committed');
send_off($waiting, q{BEGIN; SELECT claim(2, wait => '3 minutes')});
wait_for($node, q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Extension'});
$node->safe_psql('postgres', q{ROLLBACK PREPARED 'p2'});
is(ask($waiting, 'SELECT finish(2); COMMIT'),
	"claimed\ncompleted", 'and owns the key when it was rolled back');
$waiting->quit;

$node->safe_psql('postgres', q{ROLLBACK PREPARED 'batch'});
is(ask($node, q{SELECT count(*) FROM generate_series(101, 300) n WHERE pay(n) = 'claimed'}),
	'200', 'a batch that was rolled back is open to claim');
$node->safe_psql('postgres', 'DELETE FROM effect WHERE n > 100');
$node->safe_psql('postgres', q{COMMIT PREPARED 'p3'; COMMIT PREPARED 'p4'});
is(ask($node, 'SELECT pay(3)'), 'replayed', 'COMMIT PREPARED after a crash: replayed');
is(ask($node, q{SELECT claim(4, 'call')}),
	'in_progress', 'the external claim is in progress by its lease');
is(ask($node, q{SELECT string_agg(n::text, ' ' ORDER BY n) FROM effect}),
	'1 2 3', 'one effect an intent');
is(ask($node, q{SELECT count(*) FROM pg_locks WHERE locktype = 'userlock'}),
	'0', 'no key is locked');

$node->stop;
done_testing();
