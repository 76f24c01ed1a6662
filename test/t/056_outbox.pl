# examples/outbox: one shipment an order, counted, whatever the relay delivers again.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl";

use PgIdem qw(hang_up);
use PgIdemPrograms;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('outbox');
$node->init;
$node->append_conf('postgresql.conf', 'log_statement = none');
$node->start;
for my $service (qw(orders shipping))
{
	$node->safe_psql('postgres', "CREATE DATABASE $service");
	$node->safe_psql($service, slurp_file("examples/outbox/$service.sql"));
}
my ($host, $port) = $ENV{PG_IDEM_POOLED} ? start_pooler($node) : ($node->host, $node->port);
local @ENV{qw(PGHOST PGPORT)} = ($host, $port);

my @logs;
sub start_relay
{
	my (@options) = @_;
	my $relay = start_program('/usr/bin/python3', 'examples/outbox/relay.py', '--poll', 0.05, @options);
	push @logs, $relay->{log};
	return $relay;
}

# How many deliveries were answered so, by all relays.
sub answered
{
	my ($outcome) = @_;
	return scalar map { slurp_file($_) =~ /^\S+ $outcome$/mg } @logs;
}

sub wait_for_delivery
{
	$node->poll_query_until('orders',
		'SELECT NOT EXISTS (SELECT FROM orders.outbox WHERE delivered_at IS NULL AND problem IS NULL)')
	  or die 'not delivered';
	return;
}

# The order with items of a cart, as often as it is called.
my $items = q{'[{"sku": "A", "n": 2}]'};
sub place
{
	my ($n) = @_;
	return $node->safe_psql('orders', "SELECT http_status, receipt FROM orders.place('ada', 'cart-$n', $items)");
}
my $shipped = 'SELECT count(*), count(DISTINCT order_id) FROM shipping.shipment';

# A relay that is killed between delivery and mark.
is(place(0), '200|{"order_id": "o-1"}', 'an order is placed');
is(place(0), '200|{"order_id": "o-1"}', 'and placed again: the same one');
is(end_program(start_relay('--at', 'read')), 'KILL', 'a relay is killed before it delivers');
is($node->safe_psql('shipping', $shipped), '0|0', 'nothing is shipped');
is(end_program(start_relay('--at', 'delivered')), 'KILL', 'another one when it has delivered');
is($node->safe_psql('shipping', $shipped), '1|1', 'it is shipped');
is($node->safe_psql('orders', 'SELECT count(*) FROM orders.outbox WHERE delivered_at IS NULL'), '1', 'and not marked');
is(end_program(start_relay('--at', 'marked')), 'KILL', 'the next one delivers it again');
is(answered('replayed'), 1, 'which is answered with the receipt');
is($node->safe_psql('shipping', $shipped), '1|1', 'one shipment');

# A customer that is gone in the middle of the order.
my $customer = $node->background_psql('orders');
$customer->query_safe("BEGIN; SELECT orders.place('ada', 'cart-41', $items)");
is(place(41), '503|', 'while it is being placed, a repeat is told to come again');
hang_up($customer);
wait_until('the transaction is gone', sub { place(41) eq '200|{"order_id": "o-3"}' });
is($node->safe_psql('orders', 'SELECT count(*), (SELECT count(*) FROM orders.outbox) FROM orders.customer_order'),
	'2|2', 'neither order nor event is left of it');

# Forty carts, ordered again and again by eight customers at once; three relays, which are killed anywhere.
my @relays = map { start_relay() } 1 .. 3;
my $script = $node->basedir . '/place.sql';
append_to_file($script, "\\set n random(1, 40)\nSELECT orders.place('ada', 'cart-' || :n, $items);\n");
my $customers = start_program('pgbench', '-n', '-c', 8, '-t', 100, '-f', $script, 'orders');
my $kills = 0;
for my $turn (1 .. 6)
{
	select undef, undef, undef, 0.1 + rand 0.2;
	$kills++ if end_program(shift @relays, 'KILL') eq 'KILL';
	push @relays, start_relay();
}
is(end_program($customers), 0, 'customers order');
is($node->safe_psql('orders', "
		SELECT count(*) FROM generate_series(1, 40) n CROSS JOIN LATERAL orders.place('ada', 'cart-' || n, $items) p
		WHERE p.http_status = 200"), '40', 'until all carts are ordered');
wait_for_delivery();
is($kills, 6, 'six relays are killed meanwhile');
is($node->safe_psql('orders', 'SELECT count(*), count(DISTINCT cart), (SELECT count(*) FROM orders.outbox) FROM orders.customer_order'),
	'42|42|42', 'one order a cart, and one event an order');
is($node->safe_psql('shipping', $shipped), '42|42', 'one shipment an order');

# The outbox is restored from a backup that knows of no delivery.
my $replays = answered('replayed');
$node->safe_psql('orders', 'UPDATE orders.outbox SET delivered_at = NULL');
wait_for_delivery();
cmp_ok(answered('replayed') - $replays, '>=', 42, 'every event is delivered again');
is($node->safe_psql('shipping', $shipped), '42|42', 'and nothing is shipped');

# An event that comes again with another content is not what it was.
$node->safe_psql('orders', q{UPDATE orders.outbox SET delivered_at = NULL, body = body || '{"items": []}' WHERE position = 1});
wait_for_delivery();
like($node->safe_psql('orders', 'SELECT problem FROM orders.outbox WHERE position = 1'),
	qr/different request/, 'a conflict is kept for a person');
is($node->safe_psql('shipping', $shipped), '42|42', 'and nothing is shipped');
is($node->safe_psql('shipping', q{
		SELECT count(*) FROM shipping.shipment s JOIN idem_keys k ON k.response = jsonb_build_object('shipment_id', s.id)}),
	'42', 'the ledger has one key a shipment');
is(join(' ', map { end_program($_, 'TERM') } @relays), '0 0 0', 'relays end when they are told to');

$node->stop;
done_testing();

1;
