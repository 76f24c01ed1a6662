# examples/mcp_refunds: a tool server for a model that rewords, repeats itself and crashes, and a
# payment provider that keeps its own count.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl";

use HTTP::Tiny;
use JSON::PP;
use PgIdemPrograms;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $example = 'examples/mcp_refunds';
-d "$example/node_modules" or die "needs the npm packages of $example in its node_modules";

my $node = PostgreSQL::Test::Cluster->new('refunds');
$node->init;
$node->start;
command_ok([ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-v', 'lease=2 seconds', '-f', "$example/setup.sql",
		'-d', $node->connstr('postgres') ], 'the database is set up');

my ($host, $port) = $ENV{PG_IDEM_POOLED} ? start_pooler($node, 'mcp_refunds') : ($node->host, $node->port);

my ($in, $out, $errors) = ('', '', '');
my $timer = IPC::Run::timer($PostgreSQL::Test::Utils::timeout_default);
my $provider = IPC::Run::start([ 'node', "$example/provider.mjs" ], '<', \$in, '>', \$out, '2>', \$errors, $timer);
$provider->pump until $out =~ m{^listening on (http://\S+)\n}m;
my ($url) = $out =~ m{(http://\S+)};

my $story = do {
	local %ENV = (%ENV, PGHOST => $host, PGPORT => $port, PGDATABASE => 'postgres',
		PGUSER => 'mcp_refunds', PROVIDER_URL => $url);
	my ($told, $complaints);
	ok(run_log([ 'node', "$example/story.mjs" ], '>', \$told, '2>', \$complaints), 'the story comes to its end');
	is($complaints, '', 'without a complaint');
	$told;
};
note $story;

# scene NAME, ANSWERS, COUNTS, WHAT: counts are keys, requests, effects, and answers that say "done now".
sub scene
{
	my ($name, $answers, $counts, $what) = @_;
	my ($keys, $requests, $effects, $fresh) = split / /, $counts;
	like($story, qr/^\Q$name\E: $answers \| keys $keys, requests $requests, effects $effects, told as new $fresh$/m,
		"$name: $what");
}

like($story, qr/^a model may fill: amount, charge_id, currency, reason, ticket$/m,
	'the published schema has no key, no request id and no clock');
scene('rewords and repeats', 'done_now, already_done', '1 1 1 1',
	'one refund, of which one answer says that it was made now');
scene('changes the amount', 'conflict, read', '1 1 1 0', 'nothing is done');
like($story, qr/^  NOT DONE\. .* about amount, .* A person decides\. Read .* with read_effect \{"reference": "rfnd_\w+"\};/m,
	'a conflict names the field, and how to read what was done');
like($story, qr/^  the earlier one asked for 1250: replayed$/m, 'which can be read so');
scene('makes up a key', 'refused', '0 0 0 0', 'a key of the model is no argument');
scene('asks for half a penny', 'refused', '0 0 0 0', 'amounts are not rounded');
scene('strays from the plan', 'refused', '0 0 0 0', 'a step has to be planned');
scene('asks twice at once', 'under_way, done_now', '1 1 1 1', 'one is sent');
scene('the answer is lost', 'unknown, settled', '1 1 1 0', 'it is looked up, and not sent again');
scene('the provider is slow', 'unknown, settled', '1 1 1 0', 'a timeout is no failure');
scene('the provider is busy', 'not_done, done_now', '1 2 1 1', 'the same key is sent again');
scene('the provider declines', 'declined', '1 1 0 0', 'it is not asked again');
my $wait = '(?:under_way, )?';    # a machine under load may have waited long enough
scene('killed when claimed', "died, ${wait}done_now", '1 1 1 1', 'nothing was sent, so it is begun anew');
scene('killed when about to send', "died, ${wait}settled", '1 1 1 0', 'looked up in vain, then sent');
scene('killed when sent', "died, ${wait}settled", '1 1 1 0', 'looked up and found');
scene('killed while the provider works', 'died, (?:(?:under_way|unknown), )+settled', '1 1 1 0',
	'not sent again while the provider does not know itself');
scene('outlives its lease', "${wait}settled, already_done", '1 1 1 0', 'the one before is fenced off');
scene('nobody comes back', 'died, already_done', '1 1 1 0', 'lost work is finished without a model');
scene('the orchestrator is killed', 'already_done, done_now', '2 2 2 1',
	'two equal steps, two credits');

# The provider's own count against the ledger.
my $count = decode_json(HTTP::Tiny->new->get("$url/count")->{content});
my %effects = %{ $count->{effects} };
is(scalar(grep { /^rfnd_/ } keys %effects), 11, 'eleven refunds at the provider, of eleven intents that were not refused');
is(scalar(grep { /^crdt_/ } keys %effects), 2, 'two credits, of two steps');
my $held_by_provider = join "\n", sort map { "$_ $effects{$_}{id}" } keys %effects;
is($node->safe_psql('postgres', q{SELECT key || ' ' || effect_ref FROM idem_keys WHERE state = 'completed' ORDER BY key COLLATE "C"}),
	$held_by_provider, 'the ledger has the same keys, with the same effects');
is($node->safe_psql('postgres', 'SELECT count(*) FROM idem_pending'), '0', 'nothing is left open');
is($node->safe_psql('postgres', q{SELECT asked->>'amount', differing_fields FROM mcp_refunds.review}),
	'12500|{amount}', 'one contradiction waits for a person');
is($node->safe_psql('postgres', q{SELECT count(*), bool_and(r.effect_ref = k.effect_ref) FROM idem.late_report r JOIN idem.key k USING (key)}),
	'1|t', 'what the slow server has reported is what the other one had found');
is($node->safe_psql('postgres', q{SELECT count(*), count(DISTINCT answer->>'effect') FROM mcp_refunds.step}),
	'2|2', 'the plan is carried out');

$in = undef;
$provider->finish;
is($errors, '', 'the provider has nothing to complain of');
$node->stop;
done_testing();
