# A physical standby answers what is known and refuses what would have to be written; after its
# promotion it is a ledger like any other.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl";

use PostgreSQL::Test::Cluster;
use PgIdem;
use Test::More;

my $primary = new_server('primary', init => { allows_streaming => 1 });
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

my $owner = session($primary);
is(ask($primary, 'SELECT pay(1)'), 'claimed', 'a payment on the primary');
is(ask($primary, q{SELECT claim(3, 'call')}), 'claimed', 'an external claim, committed open');
is(ask($owner, 'BEGIN; SELECT claim(2); SELECT finish(2)'),
	"claimed\ncompleted", 'and a payment under way');
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));

# C123 on the standby, and in a read-only transaction on the primary.
for ([ $standby, 'standby', '' ],
	[ $primary, 'read-only', 'SET default_transaction_read_only = on; ' ])
{
	my ($node, $where, $set) = @$_;
	my $session = session($node);
	ask($session, $set) if $set;
	is(ask($session, 'SELECT claim(1), look_up(1)'),
		'replayed|replayed', "C123: a completed key is replayed ($where)");
	is(ask($session, q{SELECT claim(3, 'call'), look_up(3, 'call')}),
		'in_progress|in_progress', "C123: a lease is seen ($where)");
	is(ask($session, 'SELECT look_up(5) IS NULL'),
		't', "C123: nothing is known of a new key ($where)");
	is(ask($session, $_), '25006', "C123: refused: $_ ($where)")
	  for 'SELECT claim(5)', q{SELECT outcome FROM idem_record('acme', 'pay', '{"n": 5}')},
	  q{SELECT idem_complete('acme', key_of(3, 'call'), fence => 1)}, 'SELECT idem_expire()';
	is( ask($session, q{
		SELECT key_of(5) ~ '^pay_', idem_check('acme', 'pay', '{}') ~ 'missing',
			idem_canonical('{"a": 1.0}'),
		(SELECT count(*) FROM idem_operations)}),
		't|t|{"a":1}|2', "C123: what only computes or reads works ($where)");
	$session->quit;
}
is(ask($primary, q{SET default_transaction_read_only = on; SELECT claim(2)}),
	'25006', 'C123: so is a claim of what is only under way, of which nothing is written yet');

$standby->promote;
wait_for($standby, 'SELECT NOT pg_is_in_recovery()');
is(ask($standby, 'SELECT pay(1)'),
	'replayed', 'C124: after promotion, what was replicated is replayed');
is(ask($standby, 'SELECT pay(5)'), 'claimed', 'C124: new claims work');
is(ask($standby, 'SELECT pay(2)'),
	'claimed', 'a payment that the primary never committed is open to claim');
is(ask($standby, q{SELECT claim(3, 'call')}), 'in_progress', 'a lease is still in force');
is(ask($standby, 'SELECT idem_expire()'), '0', 'C124: expiry runs without a restart');
is(ask($standby, q{SELECT string_agg(n::text, ' ' ORDER BY n) FROM effect}),
	'1 2 5', 'one effect each');

$owner->quit;
$standby->stop;
$primary->stop;
done_testing();
