# What the tests of the expiry worker share: servers that preload the library, and keys past their
# life by raw SQL, since waiting for a retention would be slow.
package PgIdemWorker;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Time::HiRes qw(time);

our @EXPORT = qw(worker_server set_option pause_worker resume_worker add_ledger add_expired keys_left
  wait_for wait_for_worker pass_rounds launcher_pid seconds_of log_lines);

# worker_server(NAME, SETTING => VALUE...): not started yet. Rounds are a second apart unless told
# otherwise.
sub worker_server
{
	my ($name, %settings) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(allows_streaming => delete $settings{allows_streaming});
	%settings = (
		'shared_preload_libraries' => 'pg_idem',
		'pg_idem.expire_interval' => 1,
		# Cluster.pm has other defaults: a killed worker must not end the server.
		'restart_after_crash' => 'on',
		'log_statement' => 'none',
		%settings);
	$node->append_conf('postgresql.conf', join "\n", map { "$_ = '$settings{$_}'" } sort keys %settings);
	return $node;
}

sub set_option
{
	my ($node, $name, $value) = @_;
	$node->safe_psql('postgres', "ALTER SYSTEM SET $name = '$value'");
	$node->reload;
	return;
}

# No round is under way when this returns, and none begins.
sub pause_worker
{
	my ($node) = @_;
	set_option($node, 'pg_idem.expire_interval', 0);
	wait_for($node, 'postgres', q{
		SELECT query LIKE 'off:%' FROM pg_stat_activity WHERE backend_type = 'pg_idem launcher'});
	return;
}

sub resume_worker
{
	my ($node) = @_;
	set_option($node, 'pg_idem.expire_interval', 1);
	return;
}

# An operation whose keys live for an hour, and the effects that they stand for.
sub add_ledger
{
	my ($node, $database) = @_;
	$node->safe_psql($database, q{
		CREATE EXTENSION pg_idem;
		SELECT idem_define('pay', key_fields => '{"n": "exact"}', retention => '1 hour',
		                   failure_retention => '1 hour');
		CREATE TABLE IF NOT EXISTS effect (n text)});
	return;
}

# So many keys that were finished two days ago, each with its effect. What expiry remembers of the
# blocks knows nothing of raw SQL, so it is thrown away.
sub add_expired
{
	my ($node, $database, $count) = @_;
	$node->safe_psql($database, qq{
		INSERT INTO effect SELECT n::text FROM generate_series(1, $count) n;
		INSERT INTO idem.key (key, completed_at, elapsed, policy, state, tenant, effect_ref)
			SELECT gen_random_uuid(), now() - interval '2 days', 5, 1, 'c', 'acme', n::text
			FROM generate_series(1, $count) n;
		DELETE FROM idem.sweep});
	return;
}

sub keys_left
{
	my ($node, $database) = @_;
	return $node->safe_psql($database, 'SELECT count(*) FROM idem.key');
}

# Waits until a query answers 't'.
sub wait_for
{
	my ($node, $database, $query) = @_;
	$node->poll_query_until($database, $query) or die "never came true: $query";
	return;
}

# Waits for a worker in a database that matches, and returns its pid and its database. With a limit, for
# one that came no longer ago: an old one may leave by itself at any moment.
sub wait_for_worker
{
	my ($node, $pattern, $limit) = @_;
	$limit //= '1 day';
	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		my $found = $node->safe_psql('postgres', qq{
			SELECT pid, datname FROM pg_stat_activity
			WHERE backend_type = 'pg_idem worker' AND datname ~ '$pattern'
			  AND clock_timestamp() - backend_start < '$limit'
			LIMIT 1});
		return split /\|/, $found if $found;
		Time::HiRes::usleep(100_000);
	}
	die "no worker came to $pattern";
}

# Waits until so many rounds have visited a database that has nothing else to delete.
sub pass_rounds
{
	my ($node, $database, $count) = @_;
	my $query = 'SELECT count(*) FROM idem.key';
	my $before = $node->safe_psql($database, $query);
	for (1 .. $count)
	{
		add_expired($node, $database, 1);
		wait_for($node, $database, "SELECT ($query) = $before");
	}
	return;
}

sub launcher_pid
{
	my ($node) = @_;
	return $node->safe_psql('postgres',
		"SELECT pid FROM pg_stat_activity WHERE backend_type = 'pg_idem launcher'");
}

sub seconds_of
{
	my ($code) = @_;
	my $begin = time;
	$code->();
	return time - $begin;
}

# How many lines of the server's log match.
sub log_lines
{
	my ($node, $pattern, $offset) = @_;
	return scalar grep { /$pattern/ } split /\n/, slurp_file($node->logfile, $offset // 0);
}

1;
