# The webhook inbox of examples/: real payloads, repeated, reordered and spelt differently.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $payloads = $ENV{PG_IDEM_WEBHOOKS}
  or die 'PG_IDEM_WEBHOOKS must name the unpacked package @octokit/webhooks-examples';

my $node = PostgreSQL::Test::Cluster->new('inbox');
$node->init;
$node->start;
$node->safe_psql('postgres', slurp_file('examples/webhook_inbox/inbox.sql'));

sub receive
{
	my ($sender, $event, $body, $wait) = @_;
	return "SELECT http_status, outcome, receipt FROM webhook_inbox.receive("
	  . "'$sender', '$event', 'ping', '$body', wait => '"
	  . ($wait // '0') . "');";
}

# C143: one event, delivered while its first delivery is being handled, and once more.
my $first = $node->background_psql('postgres');
my $second = $node->background_psql('postgres');
$first->query_safe('BEGIN');
is($first->query_safe(receive('shop', 'evt_77', '{"n": 10}')),
	'200|claimed|{"filed_as": 1}', 'C143: the first delivery is filed');
is($node->safe_psql('postgres', receive('shop', 'evt_77', '{"n": 10}')),
	'503|in_progress|', 'C143: a repeat during the first is told to come again, with no error');
$second->query_until(qr/waiting/,
	"\\echo waiting\n" . receive('shop', 'evt_77', '{"n": 10.0}', '3min') . "\n");
$first->query_safe('COMMIT');
is($second->query_safe("SELECT 'next'"),
	qq(200|replayed|{"filed_as": 1}\nnext),
	'C143: a repeat that waits is answered with the receipt of the first');
is($node->safe_psql('postgres', receive('shop', 'evt_77', '{"n": 1e1}')),
	'200|replayed|{"filed_as": 1}', 'C143: so is every later one');
is($node->safe_psql('postgres', "SELECT count(*) FROM webhook_inbox.event"),
	'1', 'C143: one effect');
$first->quit;
$second->quit;

# C144: the id of an event is its sender's, so it names one event for one sender only.
is($node->safe_psql('postgres', receive('app1', 'g-1', '{"hook": 1}')),
	'200|claimed|{"filed_as": 2}', 'C144: an id, from one sender');
is($node->safe_psql('postgres', receive('app2', 'g-1', '{"hook": 2}')),
	'200|claimed|{"filed_as": 3}', 'C144: the same id from another sender is another event');
is($node->safe_psql('postgres', receive('app1', 'g-1', '{"hook": 2}')),
	'409|conflict|', 'C144: the same id from the same sender with another payload is a conflict');
is( $node->safe_psql('postgres',
		"SELECT string_agg(sender || body::text, ' ' ORDER BY id) FROM webhook_inbox.event WHERE event_id = 'g-1'"),
	'app1{"hook": 1} app2{"hook": 2}', 'C144: two effects');
$node->safe_psql('postgres', 'TRUNCATE webhook_inbox.event');

# C143: the whole package, three deliveries an event, over four connections.
local $ENV{PGHOST} = $node->host;
local $ENV{PGPORT} = $node->port;
local $ENV{PGDATABASE} = 'postgres';
command_ok([ '/usr/bin/python3', 'examples/webhook_inbox/deliver.py', $payloads ],
	'C143: every event of the package is filed once');
my ($rows, $events, $expected) = split /\|/, $node->safe_psql('postgres', q{
	SELECT count(*), count(DISTINCT (sender, event_id)),
	       (SELECT count(*) FROM idem_keys WHERE operation = 'webhook.delivery' AND state = 'completed'
	           AND tenant NOT IN ('shop', 'app1', 'app2'))
	FROM webhook_inbox.event});
cmp_ok($rows, '>=', 700, 'C143: the package was delivered');
is($rows, $events, 'C143: no event has two effect rows');
is($rows, $expected, 'C143: the ledger has one key an effect');

$node->stop;
done_testing();
