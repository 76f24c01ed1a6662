# Definitions, indexes and the table itself change while clients pay: still one effect an intent.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl";

use PostgreSQL::Test::Utils;
use PgIdem;
use Test::More;

my $node = new_server('changes', conf => 'max_connections = 30');
$node->safe_psql('postgres', q{
	CREATE EXTENSION amcheck;
	-- Half of the clients name the version that they were built for.
	CREATE FUNCTION pay_as(intent int, version int) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE answer idem.claim;
	BEGIN
		answer := idem_claim('acme', 'pay', jsonb_build_object('n', intent, 'note', 'x'),
			version => version);
		IF answer.action = 'do' THEN
			INSERT INTO effect VALUES (intent);
			PERFORM idem_complete('acme', answer.key);
		END IF;
		RETURN answer.outcome;
	END $$});

local %ENV = (%ENV, PGHOST => $node->host, PGPORT => $node->port, PGDATABASE => 'postgres');
my $script = $node->basedir . '/pay.sql';
my $intents = 20000;
append_to_file($script, <<"SQL");
\\set n random(1, $intents)
\\set old :client_id % 2
\\if :old
SELECT pay_as(:n, 1);
\\else
SELECT pay_as(:n, NULL);
\\endif
SQL

# What is done one after the other while the clients run. The notes are bound, or not, by version.
my @changes = (
	q{REINDEX TABLE CONCURRENTLY idem.key},
	q{SELECT idem_define('pay', version => 2, key_fields => '{"n": "number"}',
		unchecked_fields => '{note}', key_prefix => 'p')},
	q{CREATE INDEX CONCURRENTLY by_tenant ON idem.key (tenant)},
	q{VACUUM FULL idem.key},
	q{SELECT idem_define('pay', version => 3, key_fields => '{"n": "exact", "note": "optional"}',
		key_prefix => 'q')},
	q{REINDEX TABLE CONCURRENTLY idem.key},
	q{SELECT idem_define('pay', retention => '90 days')},
	q{DROP INDEX CONCURRENTLY idem.by_tenant},
	q{SELECT idem_define('other', identity => 'arguments')},
	q{REINDEX TABLE idem.key});

my ($output, $errors) = ('', '');
my $run = IPC::Run::start([ 'pgbench', '-n', '-c', 8, '-j', 2, '-T', 600, '-f', $script ],
	'>', \$output, '2>', \$errors);
for my $change (@changes)
{
	my $effects = $node->safe_psql('postgres', 'SELECT count(*) FROM effect');
	is(ask($node, $change) =~ s/^(created|changed)$//r, '', "while clients pay: $change");
	$run->pump_nb;
	# The next change comes when some more intents were paid after this one.
	wait_for($node, "SELECT count(*) > least($effects + 300, $intents * 0.9) FROM effect");
}
ok($run->pumpable, 'the clients went on all the time');
$run->signal('TERM');
$run->finish;
is($errors =~ /ERROR/ ? $errors : '', '', 'no client met an error');

$node->safe_psql('postgres', "SELECT pay_as(n, NULL) FROM generate_series(1, $intents) n");
is( ask($node, 'SELECT count(*), count(DISTINCT n), (SELECT count(*) FROM idem.key) FROM effect'),
	"$intents|$intents|$intents",
	'C137: one effect and one key an intent, whatever version claimed it');
is($node->safe_psql('postgres', 'SELECT count(DISTINCT policy) FROM idem.key'),
	'3', 'C137: all versions claimed');
is( $node->safe_psql('postgres', q{
	SELECT count(*) FROM idem.key k JOIN idem.operation o ON o.id = k.policy
	WHERE o.version - 1 <> (SELECT count(*) FROM idem.alias a WHERE a.key = k.key)}),
	'0', 'C137: every key has an alias under each lower version');
is( ask($node, q{
		SELECT count(*) FROM (SELECT bt_index_check(indexrelid, true) FROM pg_index
		WHERE indrelid = 'idem.key'::regclass OFFSET 0) s}),
	'3', 'every row is in each index that it belongs into');

$node->stop;
done_testing();
