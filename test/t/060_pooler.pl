# C090: a pooler in transaction mode gives each transaction whatever server connection is free.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl";

use PostgreSQL::Test::Utils;
use PgIdem;
use PgIdemPrograms;
use Test::More;

my $node = new_server('pooler');
my ($host, $port) = start_pooler($node);
my $pooled = "host=$host port=$port dbname=postgres";

# Sessions as the pooler's clients see them.
sub client
{
	return session($node, undef, extra_params => [ '-d', $pooled ]);
}

my ($agent, @others) = map { client() } 1 .. 3;
my ($outcome, $fence, $claimer) = split /\|/,
  ask($agent, q{
	SELECT outcome, fence, pg_backend_pid() FROM idem_claim('acme', 'call', '{"n": 1}')});
is($outcome, 'claimed', 'C090: a claim through one server connection');

# Other clients take both connections, and the one that the claim went through is not given back.
my @taken = map { [ $_, ask($_, 'BEGIN; SELECT pg_backend_pid()') ] } @others;
my ($free) = grep { $_->[1] ne $claimer } @taken;
ask($free->[0], 'COMMIT');
is( ask($agent, "SELECT idem_complete('acme', key_of(1, 'call'), 'x', fence => $fence),
		pg_backend_pid()"),
	"completed|$free->[1]", 'C090: is completed through another');
is(ask($agent, q{SELECT claim(1, 'call')}), 'replayed', 'C090: and replayed');
ask($_, 'COMMIT') for @others;

# Local effects of many clients over the two connections.
local @ENV{qw(PGHOST PGPORT)} = ($host, $port);
my $script = $node->basedir . '/pay.sql';
append_to_file($script, "\\set n random(1, 40)\nBEGIN;\nSELECT pay(:n);\nCOMMIT;\n");
command_ok([ 'pgbench', '-n', '-c', 8, '-t', 100, '-f', $script, 'postgres' ],
	'C090: eight clients pay through the pooler');
is(ask($agent, 'SELECT count(*) = count(DISTINCT n), count(DISTINCT n) FROM effect'),
	't|40', 'C090: one effect each');

# What is left on the server connections when no client is in a transaction.
my @left = map { ask($_, q{
	BEGIN; SELECT pg_backend_pid(),
	       (SELECT count(*) FROM pg_locks WHERE locktype IN ('advisory', 'userlock')),
	       (SELECT count(*) FROM pg_class WHERE relpersistence = 't'),
	       (SELECT count(*) FROM pg_prepared_statements),
	       (SELECT string_agg(name, ' ') FROM pg_settings WHERE source = 'session')}) } @others;
isnt($left[0], $left[1], 'C090: both server connections are looked at');
like($_,
	qr/^\d+\|0\|0\|0\|(application_name)?$/,
	'C090: no lock, table, statement or setting is left') for @left;

$_->quit for $agent, @others;
$node->stop;
done_testing();
