# examples/payment_worker: one charge a payment, counted at the provider, whatever the provider does.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl";

use PgIdemPayments;
use PgIdemPrograms;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_payments('provider');

# What a provider does to its callers.
$node->safe_psql('postgres', q{SELECT idem_define('payment.charge', max_attempts => 4)});
my %faults = (
	'lost' => [ 'lose', 'lose' ], 'late' => ['late:2'], 'broken' => ['500'],
	'charged' => ['500:charged'], 'limited' => ['429'], 'declined' => ['402'],
	'doubt' => [ 'lose', '429' ], 'dead' => [ ('500') x 4 ]);
misbehave(invoice => $_, faults => $faults{$_}) for keys %faults;
ask_for('faults', $_) for sort(keys %faults), qw(twice twice other);
ask_for('faults', 'other', 13);
my $worker = start_worker(timeout => 1, lease => 5);
wait_for_the_end('faults');
is(charged(qr/./),
	'broken:1 charged:1 doubt:1 late:1 limited:1 lost:1 other:1 twice:1', 'one charge a payment, whatever was answered');
is(status_of('faults'),
	'broken:paid charged:paid dead:charging declined:declined doubt:paid late:paid limited:paid lost:paid '
	. 'other:paid other:refused twice:paid twice:paid', 'what became of the requests');
is($node->safe_psql('postgres', q{SELECT count(DISTINCT charge_id) FROM payments.request WHERE invoice = 'twice'}),
	'1', 'an invoice that was asked for twice has one charge');
is($node->safe_psql('postgres', q{
		SELECT k.attempt, k.state FROM idem_keys k JOIN payments.request r ON (k.tenant, k.key) = (r.tenant, r.key)
		WHERE r.invoice IN ('late', 'limited', 'lost', 'declined') ORDER BY r.invoice}),
	"1|failed\n2|completed\n2|completed\n3|completed", 'in as many attempts as it takes');
like(slurp_file($worker->{log}), qr/^limited: attempt 1: 429 release$/m, 'what was refused is released');
like(slurp_file($worker->{log}), qr/^doubt: attempt 2: 429 unknown$/m, 'but not when an attempt before may have charged');
my $dead = q{SELECT p.next_outcome, p.attempt, r.invoice, r.status
	FROM idem_dead_letters p JOIN payments.request r ON (p.tenant, p.key) = (r.tenant, r.key)};
is($node->safe_psql('postgres', $dead), 'exhausted|4|dead|charging', 'one is a dead letter');
is($node->safe_psql('postgres', q{SELECT idem_resolve(tenant, key, 'retry', note => 'provider is up') FROM idem_dead_letters}),
	'released', 'whom a person sends on its way');
wait_for_the_end('faults');
is(charged(qr/dead/), 'dead:1', 'and it is charged');
end_program($worker, 'TERM');

# A call that takes longer than the lease, while another worker looks for lost work.
my @workers = map { start_worker(lease => 2) } 1 .. 2;
misbehave(invoice => 'slow', faults => ['late:4']);
ask_for('slow', 'slow');
wait_for_the_end('slow');
is($node->safe_psql('postgres', q{SELECT attempt, state FROM idem_keys WHERE tenant = 'slow'}),
	'1|completed', 'a heartbeat keeps the key: one attempt');
is(charged(qr/slow/), 'slow:1', 'one charge');
end_program($_, 'TERM') for @workers;

# The provider forgets, a little earlier than it said: the same key would be a second charge.
$node->safe_psql('postgres', q{SELECT idem_define('payment.charge', lease => '1 second', provider_window => '2 seconds')});
misbehave(window => 0.5);
ask_for('forgotten', 'forgotten');
is(end_program(start_worker(at => 'answered', tenant => 'forgotten')), 'KILL', 'a worker is killed when it has charged');
$node->poll_query_until('postgres', q{SELECT next_outcome = 'unresolved' FROM idem_dead_letters})
  or die 'no dead letter';
ask_for('forgotten', 'after');
$worker = start_worker();
wait_for_the_end('forgotten');
is(charged(qr/forgotten|after/), 'after:1 forgotten:1', 'whoever comes after the window does not send it again');
is($node->safe_psql('postgres', $dead), 'unresolved|1|forgotten|charging', 'it is a dead letter');
end_program($worker, 'TERM');
$node->safe_psql('postgres', q{
	SELECT idem_resolve(tenant, key, 'completed', effect_ref => 'ch_x', note => 'found at the provider') FROM idem_dead_letters;
	UPDATE payments.request SET status = 'paid', charge_id = 'ch_x' WHERE invoice = 'forgotten'});
is($node->safe_psql('postgres', 'SELECT string_agg(decision, $$ $$ ORDER BY decided_at) FROM idem_decisions'),
	'retry completed', 'what people have decided');

$node->stop;
done_testing();
