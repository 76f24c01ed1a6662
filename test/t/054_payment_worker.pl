# examples/payment_worker: one charge a payment, counted at the provider, wherever a worker is killed.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl";

use PgIdemPayments;
use PgIdemPrograms;
use Test::More;

my $node = start_payments('payments', $ENV{PG_IDEM_POOLED});

# Killed between any two steps, each time with a payment of its own.
my @steps = qw(claiming claimed marking marked sent answered settling settled);
ask_for("kill.$_", $_) for @steps;
my %victims = map { $_ => start_worker(at => $_, tenant => "kill.$_") } @steps;
is(join(' ', map { end_program($victims{$_}) } @steps),
	join(' ', ('KILL') x @steps), 'eight workers are killed, one at each step');
is($node->safe_psql('postgres', q{
		SELECT string_agg(substr(r.tenant, 6) || ':' || coalesce(k.state, r.status), ' ' ORDER BY r.id)
		FROM payments.request r LEFT JOIN idem_keys k ON (k.tenant, k.key) = (r.tenant, r.key)}),
	'claiming:new claimed:claimed marking:claimed marked:sending sent:sending answered:sending settling:sending settled:completed',
	'what the ledger knows of each');
wait_until('the request is charged that nobody waited for', sub { charged(qr/^sent$/) eq 'sent:1' });
is(charged(qr/./), 'answered:1 sent:1 settled:1 settling:1', 'four of them were charged');
my @unsettled = grep { $_ ne 'settled' } @steps;
%victims = map { $_ => start_worker(at => 'answered', tenant => "kill.$_") } @unsettled;
is(join(' ', map { end_program($victims{$_}) } @unsettled),
	join(' ', ('KILL') x @unsettled), 'those that go on with them are killed when it is charged');
my $worker = start_worker();
wait_for_the_end('kill.%');
is(charged(qr/./), join(' ', map { "$_:1" } sort @steps), 'one charge a payment');
is(status_of('kill.%'), join(' ', map { "$_:paid" } sort @steps), 'all are paid');
is($node->safe_psql('postgres', 'SELECT count(*) FROM idem_pending'), '0', 'nothing is pending');
is(end_program($worker, 'TERM'), 0, 'a worker ends when it is told to');

# A worker that sleeps through its lease and wakes up when the payment is somebody else's.
ask_for('sleepy', 'sleepy');
my $sleeper = start_worker(at => 'answered', signal => 'STOP', tenant => 'sleepy');
wait_until('it is charged', sub { charged(qr/sleepy/) });
$worker = start_worker();
wait_for_the_end('sleepy');
signal_program($sleeper, 'CONT');
$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM idem.late_report}) or die 'no late report';
is($node->safe_psql('postgres', q{
		SELECT l.effect_ref = r.charge_id, k.attempt, k.state FROM idem.late_report l, payments.request r, idem_keys k
		WHERE r.tenant = 'sleepy' AND k.key = r.key}), 't|2|completed', 'it is refused, and its report is kept');
is(charged(qr/sleepy/), 'sleepy:1', 'one charge');
is(end_program($_, 'TERM'), 0, 'and it goes on working') for $sleeper, $worker;

# Three workers, of which one is killed again and again, anywhere, while the provider stutters.
$node->safe_psql('postgres', q{
	SELECT idem_define('payment.charge', max_attempts => 50);
	INSERT INTO payments.request (tenant, invoice, amount, currency)
		SELECT 'storm', 'storm-' || to_char(n % 30, 'FM00'), n % 30 + 1, 'EUR' FROM generate_series(1, 60) n});
misbehave(invoice => sprintf('storm-%02d', $_), faults => [ ('lose', '500:charged', '500', 'late:0.2')[ $_ % 4 ] ]) for 0 .. 29;
my @workers = map { start_worker() } 1 .. 3;
my $kills = 0;
for my $turn (1 .. 8)
{
	select undef, undef, undef, 0.1 + rand 0.2;
	my $victim = shift @workers;
	$kills++ if end_program($victim, 'KILL') eq 'KILL';
	push @workers, start_worker();
}
wait_for_the_end('storm');
is($kills, 8, 'eight workers are killed');
is(charged(qr/^storm/), join(' ', map { sprintf 'storm-%02d:1', $_ } 0 .. 29), 'one charge a payment');
is($node->safe_psql('postgres', q{
		SELECT count(*), count(DISTINCT charge_id) FROM payments.request WHERE tenant = 'storm' AND status = 'paid'}),
	'60|30', 'and every request has it');
is($node->safe_psql('postgres', 'SELECT count(*) FROM idem_pending'), '0', 'nothing is pending');
end_program($_, 'TERM') for @workers;

$node->stop;
done_testing();

1;
