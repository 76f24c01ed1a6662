# Programs that run beside a test: the examples' own, and a pooler. None of them outlives the test.
package PgIdemPrograms;

use strict;
use warnings;

use Config;
use Exporter 'import';
use File::Basename;
use POSIX ();
use PostgreSQL::Test::Utils;

our @EXPORT = qw(start_program signal_program end_program start_pooler wait_until);

my %running;
my $started = 0;

END
{
	my $status = $?;
	kill 'KILL', keys %running;
	waitpid $_, 0 for keys %running;
	$? = $status;
}

# start_program(COMMAND...): its output goes to the file that is named in ->{log}.
sub start_program
{
	my @command = @_;
	my $name = basename($command[0] eq '/usr/bin/python3' ? $command[1] : $command[0]);
	my $log = sprintf '%s/%s_%02d_%s.log', $PostgreSQL::Test::Utils::log_path, basename($0, '.pl'),
	  ++$started, $name;
	# Opened here, so that it is there for whoever reads it before the program runs.
	open my $output, '>', $log or die "cannot write $log: $!";
	my $pid = fork // die "cannot fork: $!";
	if (!$pid)
	{
		open STDIN, '<', '/dev/null';
		open STDOUT, '>&', $output;
		open STDERR, '>&', \*STDOUT;
		exec { $command[0] } @command or print STDOUT "cannot run $command[0]: $!\n";
		POSIX::_exit(127); # no END block of the test
	}
	$running{$pid} = 1;
	return { pid => $pid, log => $log };
}

sub signal_program
{
	my ($program, $signal) = @_;
	kill $signal, $program->{pid};
	return;
}

# Waits for its end, after a signal if one is given. Returns 0, or what has ended it: "exit 1", "KILL".
sub end_program
{
	my ($program, $signal) = @_;
	my $status;
	signal_program($program, $signal) if $signal;
	wait_until("$program->{log} ends", sub {
		my $ended = waitpid($program->{pid}, POSIX::WNOHANG) == $program->{pid};
		$status = $? if $ended;
		return $ended;
	});
	delete $running{ $program->{pid} };
	return (split ' ', $Config{sig_name})[ $status & 127 ] if $status & 127;
	return $status ? 'exit ' . ($status >> 8) : 0;
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
