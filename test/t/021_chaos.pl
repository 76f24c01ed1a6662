# Two thousand transactions of eight clients over fifty intents, while backends are killed and the
# server is shut down: afterwards every intent has exactly one effect.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl";

use PostgreSQL::Test::Utils;
use PgIdem;
use Test::More;

my $clients = 8;
my $intents = 50;
my $wanted = 2000;

my $node = new_server('chaos', conf => 'max_connections = 30');
local %ENV = (%ENV, PGHOST => $node->host, PGPORT => $node->port, PGDATABASE => 'postgres');

# An effect takes a while, and seven of eight owners change their minds after it: so something is
# under way, and something is left to claim, whenever a crash comes.
sub script_for
{
	my ($isolation) = @_;
	my $file = $node->basedir . "/$isolation.sql" =~ s/ /_/gr;
	append_to_file($file, <<"SQL");
\\set n random(1, $intents)
\\set keep random(1, 8)
BEGIN ISOLATION LEVEL $isolation;
SELECT action = 'do' AS mine FROM idem_claim('acme', 'pay', jsonb_build_object('n', :n)) \\gset
\\if :mine
INSERT INTO effect VALUES (:n);
\\sleep 30 ms
SELECT idem_complete('acme', key_of(:n), effect_ref => :n::text);
\\endif
\\if :mine and :keep < 8
ROLLBACK;
\\else
COMMIT;
\\endif
SQL
	return $file;
}

my ($output, $errors);

sub start_clients
{
	my ($file, $transactions) = @_;
	($output, $errors) = ('', '');
	return IPC::Run::start(
		[
			'pgbench', '-n', '-c', $clients, '-j', 2, '-t', int($transactions / $clients) + 1,
			'--max-tries=100', '-f', $file
		],
		'>', \$output, '2>', \$errors);
}

# How many transactions the clients ended before they lost their connections or were through.
sub transactions_of
{
	my ($run) = @_;
	$run->finish;
	return $output =~ m{actually processed: (\d+)} ? $1 : 0;
}

# The server may be down at any time here.
sub count_effects
{
	my ($status, $count) = $node->psql('postgres', 'SELECT count(*) FROM effect');
	return $status == 0 ? $count : undef;
}

sub kill_some_backend
{
	my ($status, $pid) = $node->psql('postgres', q{
		SELECT pid FROM pg_stat_activity
		WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
		ORDER BY backend_xid IS NULL, random() LIMIT 1});
	return 0 if $status != 0 || $pid eq '';
	return kill 'KILL', $pid;
}

sub shut_down
{
	$node->stop('immediate');
	$node->start;
	return 1;
}

for my $isolation ('READ COMMITTED', 'REPEATABLE READ')
{
	$node->safe_psql('postgres', q{
		TRUNCATE effect; DELETE FROM idem.key});
	my $file = script_for($isolation);
	# What happens once so many intents have their effect.
	my @crashes = (
		[ 5, \&kill_some_backend ],
		[ 15, \&shut_down ],
		[ 25, \&kill_some_backend ],
		[ 35, \&kill_some_backend ]);
	my ($ended, $starts, $done) = (0, 0, 0);
	my $deadline = time + $PostgreSQL::Test::Utils::timeout_default;
	while (time < $deadline && ($ended < $wanted || $done < $intents))
	{
		my $run = start_clients($file, $ended < $wanted ? $wanted - $ended : 400);
		++$starts;
		while ($run->pumpable)
		{
			$run->pump_nb;
			my $now = count_effects() // next;
			if (@crashes && $now >= $crashes[0][0] && $crashes[0][1]->())
			{
				shift @crashes;
				last;
			}
		}
		$ended += transactions_of($run);
		wait_for($node, 'SELECT true');
		$done = count_effects();
	}
	cmp_ok($ended, '>=', $wanted, "$isolation: $ended transactions ended, in $starts runs");
	is(scalar @crashes, 0, "$isolation: three backends were killed and the server was shut down");
	is( $node->safe_psql('postgres',
			'SELECT count(*), count(DISTINCT n), min(n), max(n) FROM effect'),
		"$intents|$intents|1|$intents", "$isolation: exactly one effect per intent");
	is( $node->safe_psql('postgres', q{
			SELECT count(*) FROM idem_keys k
			JOIN effect e ON k.key = key_of(e.n) AND k.effect_ref = e.n::text
			WHERE state = 'completed'}),
		$intents, "$isolation: and its key");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM idem.key'),
		$intents, "$isolation: and no other key");
}

is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_locks WHERE locktype = 'userlock'}),
	'0', 'no key is locked');
$node->stop;
done_testing();
