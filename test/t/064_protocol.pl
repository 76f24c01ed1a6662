# The same work by every protocol that a driver may speak: simple, extended, prepared, pipelined.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl";

use PgIdem;
use Test::More;

my $node = new_server('protocol');
$node->safe_psql('postgres', 'CREATE SEQUENCE intent');

my $effect = q{
	INSERT INTO effect VALUES (:n);
	SELECT idem_complete('acme', key_of(:n), effect_ref => :n::text);};
my $claim = q{SELECT (action = 'do')::int AS mine, outcome
	FROM idem_claim('acme', 'pay', jsonb_build_object('n', :n::int))};

# New intents and repeats, ten times as many calls of a statement as a generic plan takes.
my $calls = qq{
	SELECT nextval('intent')::int AS n \\gset
	BEGIN;
	$claim \\gset
	SELECT 1 / :mine;
	$effect
	COMMIT;
	$claim \\gset
	SELECT 1 / (1 - :mine);
	SELECT 1 / (look_up(:n) = 'replayed')::int;
	SELECT 1 / (pay(:n) = 'replayed')::int;};

# Sent as one pipeline, whose implicit transaction claims, works and completes.
my $pipeline = qq{
	SELECT nextval('intent')::int AS n \\gset
	\\startpipeline
	$claim;
	$effect
	\\endpipeline
	SELECT 1 / (look_up(:n) = 'replayed')::int;};

my $expected = 0;
for ([ simple => $calls ], [ extended => $calls ], [ prepared => $calls ],
	[ extended => $pipeline, 'pipelined' ], [ prepared => $pipeline, 'pipelined' ])
{
	my ($mode, $script, $how) = @$_;
	$how = join ' ', $mode, $how // ();
	$node->pgbench(
		"-n -c 4 -j 2 -t 60 -M $mode", 0,
		[qr{actually processed: 240/240}],
		[qr{^(?!.*ERROR)}s],
		"240 intents, $how",
		{ "protocol_" . ($how =~ s/ /_/r) => $script });
	$expected += 240;
	is( $node->safe_psql('postgres', q{
			SELECT count(*), count(DISTINCT n),
			       (SELECT count(*) FROM idem_keys WHERE state = 'completed')
			FROM effect}),
		"$expected|$expected|$expected", "one effect and one key each, $how");
}

# A claim left open at the end of a pipeline's implicit transaction is an error after its rows were
# sent.
$node->pgbench('-n -c 1 -t 1 -M extended', 2, [qr{actually processed: 0/1}], [qr{was left open}],
	'a pipeline that leaves its claim open',
	{
		protocol_open => qq{
			\\set n 1000000
			\\startpipeline
			$claim;
			INSERT INTO effect VALUES (:n);
			\\endpipeline}
	});
is($node->safe_psql('postgres', 'SELECT count(*) FROM effect WHERE n = 1000000'),
	'0', 'its effect is rolled back');
is(ask($node, 'SELECT pay(1000000)'), 'claimed', 'and can be claimed');

$node->stop;
done_testing();
