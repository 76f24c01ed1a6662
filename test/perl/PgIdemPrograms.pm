# Programs that run beside a test: the examples' own, and a pooler. None of them outlives the test.
package PgIdemPrograms;

use strict;
use warnings;

use Exporter 'import';
use File::Basename;
use Config;
use IPC::Run;
use PostgreSQL::Test::Utils;

our @EXPORT = qw(start_program end_program start_pooler wait_until);

my @programs;
my $started = 0;

END
{
	my $status = $?;
	eval { $_->{run}->kill_kill } for grep { $_->{running} } @programs;
	$? = $status;
}

# start_program(COMMAND...): its output goes to the file that is named in ->{log}.
sub start_program
{
	my @command = @_;
	my $name = basename($command[0] eq '/usr/bin/python3' ? $command[1] : $command[0]);
	my $log = sprintf '%s/%s_%02d_%s.log', $PostgreSQL::Test::Utils::log_path, basename($0, '.pl'),
	  ++$started, $name;
	my $run = IPC::Run::start(\@command, '<', \undef, '>', $log, '2>&1');
	my $program = { run => $run, log => $log, running => 1 };
	push @programs, $program;
	return $program;
}

# Waits for its end, after a signal if one is given. Returns 0, or what has ended it: "exit 1", "KILL".
sub end_program
{
	my ($program, $signal) = @_;
	$program->{run}->signal($signal) if $signal;
	my $deadline = time + $PostgreSQL::Test::Utils::timeout_default;
	while ($program->{run}->pumpable)
	{
		die "does not end, see $program->{log}" if time > $deadline;
		$program->{run}->pump_nb;
		select undef, undef, undef, 0.02;
	}
	$program->{run}->finish;
	$program->{running} = 0;
	my $status = $program->{run}->full_result;
	return $status & 127 ? (split ' ', $Config::Config{sig_name})[ $status & 127 ]
	  : $status ? 'exit ' . ($status >> 8)
	  :           0;
}

# Waits until a condition is true, and dies with the words if it never is.
sub wait_until
{
	my ($what, $condition) = @_;
	my $deadline = time + $PostgreSQL::Test::Utils::timeout_default;
	until ($condition->())
	{
		die "never came true: $what" if time > $deadline;
		select undef, undef, undef, 0.05;
	}
	return;
}

# start_pooler(NODE, USER...): in transaction mode, with two server connections for each database and
# user, over which all clients are spread. Returns the host and the port that clients connect to.
sub start_pooler
{
	my ($node, @users) = @_;
	my $folder = $node->basedir;
	my $socket = PostgreSQL::Test::Utils::tempdir_short();
	my ($host, $port) = ($node->host, $node->port);
	append_to_file("$folder/pgbouncer.ini", <<"INI");
[databases]
* = host=$host port=$port
[pgbouncer]
listen_addr =
listen_port = $port
unix_socket_dir = $socket
auth_type = trust
auth_file = $folder/users.txt
pool_mode = transaction
default_pool_size = 2
ignore_startup_parameters = extra_float_digits
INI
	append_to_file("$folder/users.txt", qq("$_" ""\n)) for scalar getpwuid($<), @users;
	# Not in every user's path on Debian.
	local $ENV{PATH} = "$ENV{PATH}:/usr/sbin";
	my $pooler = start_program('pgbouncer', "$folder/pgbouncer.ini");
	wait_until("the pooler answers, see $pooler->{log}", sub {
		$node->psql('postgres', 'SELECT', connstr => "host=$socket port=$port dbname=postgres",
			stdout => \my $out, stderr => \my $err) == 0;
	});
	return ($socket, $port);
}

1;
