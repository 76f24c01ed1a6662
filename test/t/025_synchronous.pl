# Commits that wait for a standby: what others see meanwhile, and which claims wait whatever the
# session has set.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl";

use PostgreSQL::Test::Cluster;
use PgIdem;
use Test::More;

my $primary = new_server('primary', init => { allows_streaming => 1 });
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
$primary->append_conf('postgresql.conf', q{synchronous_standby_names = '*'});
$primary->reload;
wait_for($primary, q{SELECT bool_and(sync_state = 'sync') FROM pg_stat_replication});
$standby->stop;

my $observer = session($primary);

sub commit_and_wait
{
	my ($setting, $work) = @_;
	my $session = session($primary);
	ask($session, "SET synchronous_commit = $setting");
	my $pid = ask($session, 'SELECT pg_backend_pid()');
	ask($session, "BEGIN; $work");
	send_off($session, 'COMMIT');
	wait_for($primary, "SELECT wait_event = 'SyncRep' FROM pg_stat_activity WHERE pid = $pid");
	return ($session, $pid);
}

# An external claim is what a failover must not forget.
my @waiting;
my %intent_of = (off => 1, local => 2, remote_write => 3);
for my $setting (sort keys %intent_of)
{
	my ($session) = commit_and_wait($setting, "SELECT claim($intent_of{$setting}, 'call')");
	pass("the COMMIT of an external claim waits under synchronous_commit = $setting");
	push @waiting, [ $session, $setting ];
	my $n = $intent_of{$setting};
	is(ask($observer, "SELECT claim($n, 'call'), look_up($n, 'call')"),
		'in_progress|in_progress', 'meanwhile it is in progress for others');
}
is(ask($observer, 'SET synchronous_commit = off; SELECT pay(4)'),
	'claimed', 'a local effect is as durable as the session wants it to be');
is(ask($observer, 'SHOW synchronous_commit'), 'off', 'and does not change that');

$standby->start;
for (@waiting)
{
	my ($session, $setting) = @$_;
	is(ask($session, 'SHOW synchronous_commit'),
		$setting, "the COMMIT has returned; synchronous_commit is $setting as before");
	is(ask($session, "SELECT claim($intent_of{$setting}, 'call')"),
		'in_progress', 'the claim is there, under its lease');
	$session->quit;
}
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
is(ask($standby, q{SELECT count(*) FROM idem_keys WHERE state = 'sending'}),
	'3', 'on the standby too');

# Taking a released key up again is another dispatch.
my $release = session($primary);
is( ask($release, q{
		SELECT claim(5, 'call');
		SELECT idem_release('acme', key_of(5, 'call'), fence) FROM idem.key
			WHERE key = right(key_of(5, 'call'), 32)::uuid}),
	"claimed\nreleased", 'an external claim is given back');
$standby->stop;
my ($again) = commit_and_wait('off', q{SELECT claim(5, 'call')});
pass('the COMMIT of a further attempt waits as well');
$standby->start;
is(ask($again, 'SHOW synchronous_commit'), 'off', 'and returns');
$standby->stop;

# A commit that waits is not visible before the wait ends.
my ($session, $pid) = commit_and_wait('on', 'SELECT claim(6); SELECT finish(6)');
is(ask($observer, 'SELECT claim(6), look_up(6), count(*) FROM effect WHERE n = 6'),
	'in_progress|in_progress|0',
	'a payment whose COMMIT waits is in progress, its effect not visible');
ask($observer, "SELECT pg_cancel_backend($pid)");
wait_for($primary,
	"SELECT wait_event IS DISTINCT FROM 'SyncRep' FROM pg_stat_activity WHERE pid = $pid");
is(ask($observer, 'SELECT claim(6), count(*) FROM effect WHERE n = 6'),
	'replayed|1', 'a cancelled wait makes both visible at once: the commit is done here');
$session->quit;

# The commit record is written before the wait, so a crash in it loses nothing.
($session, $pid) = commit_and_wait('on', 'SELECT claim(7); SELECT finish(7)');
kill 'KILL', $pid;
wait_for($primary, "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $pid)");
is(ask($primary, 'SELECT claim(7), count(*) FROM effect WHERE n = 7'),
	'replayed|1', 'a crash in the wait keeps effect and key');
hang_up($_) for $session, $observer, $again, $release;

$primary->stop;
done_testing();
