# A definition that has to wait for claims in flight lets all other claims pass meanwhile.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl";

use PgIdem;
use Test::More;

my $node = new_server('definition');

my $owner = session($node);
is(ask($owner, 'BEGIN; SELECT claim(1)'), 'claimed', 'a claim is in flight');

my $definer = session($node);
send_off($definer, q{SELECT idem_define('pay', version => 2, key_fields => '{"n": "exact", "m": "exact"}')});
my $waits = q{
	SELECT EXISTS (SELECT FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%version => 2%'
		AND wait_event_type IS NOT NULL AND pid <> pg_backend_pid())};
wait_for($node, $waits);

# Whoever had queued behind the definition would run into the timeout.
for my $n (2 .. 11)
{
	is(ask($node, "SET statement_timeout = '20s'; SELECT pay($n)"), 'claimed',
		"C097: intent $n is claimed while the definition waits");
}
is(ask($node, $waits), 't', 'the definition waits still');
is(ask($node, 'SELECT count(*) FROM idem_operations WHERE version = 2'), '0', 'it is not there yet');

is(ask($owner, 'SELECT finish(1); COMMIT'), 'completed', 'the claim is completed');
wait_for($node, 'SELECT EXISTS (SELECT FROM idem_operations WHERE version = 2)');
$definer->quit;
is(ask($node, 'SELECT count(*), count(DISTINCT n) FROM effect'), '11|11', 'one effect each');

done_testing();
