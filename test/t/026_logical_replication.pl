# C119: the ledger is replicated as tables are, and works where it arrives.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl";

use PostgreSQL::Test::Cluster;
use PgIdem;
use Test::More;

my $publisher = new_server('publisher', init => { allows_streaming => 'logical' });
my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init(allows_streaming => 'logical');
$subscriber->start;
$subscriber->safe_psql('postgres',
	'CREATE EXTENSION pg_idem; CREATE TABLE effect (n int NOT NULL)');

is(ask($publisher, 'SELECT pay(1)'), 'claimed', 'C119: a payment before the subscription');
$publisher->safe_psql('postgres', 'CREATE PUBLICATION ledger FOR ALL TABLES');
my $source = $publisher->connstr . ' dbname=postgres';
$subscriber->safe_psql('postgres',
	"CREATE SUBSCRIPTION ledger CONNECTION '$source' PUBLICATION ledger");
$subscriber->wait_for_subscription_sync($publisher, 'ledger');

sub claim_there
{
	my ($n, $operation) = @_;
	$operation //= 'pay';
	return "SELECT outcome FROM idem_claim('acme', '$operation', '{\"n\": $n}')";
}

my $session = session($subscriber);
is(ask($session, claim_there(1)),
	'replayed', 'C119: initial synchronisation brings policies and keys');

is(ask($publisher, 'SELECT pay(2)'), 'claimed', 'a payment after it');
is(ask($publisher, q{SELECT claim(3, 'call')}), 'claimed', 'an external claim');
$publisher->wait_for_catchup('ledger');
is(ask($session, claim_there(2)), 'replayed', 'C119: keys follow');
is(ask($session, claim_there(3, 'call')), 'in_progress', 'C119: leases too');
is( ask($publisher, q{
		SELECT idem_complete('acme', key_of(3, 'call'), 'x', '{"a": 1}', fence) FROM idem.key
		WHERE key = right(key_of(3, 'call'), 32)::uuid}),
	'completed', 'the external claim is completed');
$publisher->wait_for_catchup('ledger');
is(ask($session, claim_there(3, 'call')), 'replayed', 'C119: an update arrives as well');

# A session that has read the policies already must notice that replication changed them.
is(ask($publisher, q{SELECT idem_define('late', key_fields => '{"n": "exact"}')}),
	'created', 'a later definition');
is(ask($publisher, q{SELECT outcome FROM idem_record('acme', 'late', '{"n": 1}')}),
	'claimed', 'and a key under it');
is(ask($publisher, q{SELECT idem_define('pay', retention => '1 microsecond')}),
	'changed', 'a changed retention');
is(ask($publisher, q{UPDATE idem.retention_change SET retention = '1 microsecond' RETURNING 1}),
	'1', 'for all keys');
$publisher->wait_for_catchup('ledger');
is(ask($session, claim_there(1, 'late')),
	'replayed', 'a later definition is seen by an open session of the subscriber');
is(ask($session, claim_there(1)),
	'ID025', 'so is a changed retention: the key is past its life, and can be claimed');
$session->quit;

is($subscriber->safe_psql('postgres', 'SELECT count(*), count(DISTINCT n) FROM effect'),
	'2|2', 'C119: one effect each');
$subscriber->safe_psql('postgres', 'DROP SUBSCRIPTION ledger');

# What a decoder sees: one INSERT a key, its final state, in the transaction of the effect.
$publisher->safe_psql('postgres',
	q{SELECT pg_create_logical_replication_slot('decode', 'test_decoding')});
is(ask($publisher, 'SELECT pay(4)'), 'claimed', 'a payment');
is(ask($publisher, 'BEGIN; SAVEPOINT s; SELECT claim(5); SELECT finish(5); RELEASE s; COMMIT'),
	"claimed\ncompleted", 'one in a savepoint');
is( $publisher->safe_psql('postgres', q{
		SELECT string_agg(substring(data FROM '^(?:table )?[^ ]+(?: [A-Z]+:)?'), ' '
		                  ORDER BY lsn, ordinality)
		FROM pg_logical_slot_get_changes('decode', NULL, NULL) WITH ORDINALITY}),
	join(' ', ('BEGIN table public.effect: INSERT: table idem.key: INSERT: COMMIT') x 2),
	'a key is decoded as one INSERT, with its effect');
$publisher->safe_psql('postgres', q{SELECT pg_drop_replication_slot('decode')});

$subscriber->stop;
$publisher->stop;
done_testing();
