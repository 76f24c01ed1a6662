# What the tests of examples/payment_worker share: a server with the queue, the provider, workers, and the
# count of what was charged.
package PgIdemPayments;

use strict;
use warnings;

use Exporter 'import';
use HTTP::Tiny;
use JSON::PP;
use PgIdemPrograms;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;

our @EXPORT = qw(start_payments start_worker misbehave charged ask_for status_of wait_for_the_end);

my ($node, $host, $port, $address);

# start_payments(NAME, POOLED): a server and a provider. The workers come through a pooler if so said.
sub start_payments
{
	my ($name, $pooled) = @_;
	$node = PostgreSQL::Test::Cluster->new($name);
	$node->init;
	$node->append_conf('postgresql.conf', 'log_statement = none');
	$node->start;
	$node->safe_psql('postgres', slurp_file('examples/payment_worker/payments.sql'));
	# The workers have a role with what they need and no more.
	$node->safe_psql('postgres', q{
		CREATE ROLE payer LOGIN;
		SELECT idem_grant('payer', read_arguments => true);
		GRANT USAGE ON SCHEMA payments TO payer;
		GRANT SELECT, UPDATE ON payments.request TO payer});
	($host, $port) = $pooled ? start_pooler($node, 'payer') : ($node->host, $node->port);

	my $provider = start_program('/usr/bin/python3', 'examples/payment_worker/provider.py', '--port', 0);
	wait_until('the provider listens',
		sub { ($address) = slurp_file($provider->{log}) =~ /^listening on (\S+)$/m });
	return $node;
}

# start_worker(OPTION => VALUE...)
sub start_worker
{
	my (%options) = @_;
	local @ENV{qw(PGUSER PGDATABASE PGHOST PGPORT)} = ('payer', 'postgres', $host, $port);
	%options = (provider => $address, lease => 1, poll => 0.05, %options);
	return start_program('/usr/bin/python3', 'examples/payment_worker/worker.py',
		map { ("--$_", $options{$_}) } sort keys %options);
}

sub misbehave
{
	my (%order) = @_;
	my $response = HTTP::Tiny->new->post("http://$address/stub", { content => encode_json(\%order) });
	die $response->{content} unless $response->{success};
	return;
}

# What the provider has charged, as "invoice:charges" for each invoice that matches.
sub charged
{
	my ($pattern) = @_;
	my %count;
	my $response = HTTP::Tiny->new->get("http://$address/charges");
	$count{ $_->{invoice} }++ for grep { $_->{invoice} =~ $pattern } @{ decode_json($response->{content}) };
	return join ' ', map { "$_:$count{$_}" } sort keys %count;
}

sub ask_for
{
	my ($tenant, $invoice, $amount) = @_;
	$node->safe_psql('postgres', sprintf
		q{INSERT INTO payments.request (tenant, invoice, amount, currency) VALUES ('%s', '%s', %s, 'EUR')},
		$tenant, $invoice, $amount // 12.50);
	return;
}

# What became of the requests of a tenant, as "invoice:status" of each.
sub status_of
{
	my ($tenant) = @_;
	return $node->safe_psql('postgres', "
		SELECT string_agg(invoice || ':' || status, ' ' ORDER BY invoice, id) FROM payments.request
		WHERE tenant LIKE '$tenant'");
}

# Waits until nothing of a tenant is left to do, but for dead letters.
sub wait_for_the_end
{
	my ($tenant) = @_;
	$node->poll_query_until('postgres', "
		SELECT NOT EXISTS (SELECT FROM payments.unsettled WHERE tenant LIKE '$tenant'
			AND next_outcome IS DISTINCT FROM 'exhausted' AND next_outcome IS DISTINCT FROM 'unresolved')")
	  or die "$tenant: work is left";
	return;
}

1;
