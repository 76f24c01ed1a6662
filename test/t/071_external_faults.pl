# Faults between the states of an external effect: a backend killed before COMMIT, and a COMMIT whose answer is lost,
# at each step; counted at a provider that can be asked.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl";

use PostgreSQL::Test::Utils;
use PgIdem;
use Test::More;

my $node = new_server('external_faults');
$node->safe_psql('postgres', q{
	SELECT idem_define('charge', key_fields => '{"n": "exact"}', effect => 'external', lease => '5 seconds',
		sending => 'recorded', on_lost_lease => 'takeover')});

my %charged; # by intent: a second charge of one intent is the fault all this is about

# A transaction of an attempt, which may be the last one of its client.
sub transaction
{
	my ($step, $fault, $sql) = @_;
	my $session = session($node);
	my $pid = ask($session, 'SELECT pg_backend_pid()');
	my $answer = ask($session, "BEGIN; $sql");
	if ($fault eq "$step, killed")
	{
		kill 'KILL', $pid;
		wait_for($node, "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $pid)");
		hang_up($session);
		die "crashed\n";
	}
	ask($session, 'COMMIT');
	hang_up($session);
	die "crashed\n" if $fault eq "$step, answer lost";
	return split /\|/, $answer;
}

# What a client does, again and again, until the intent is done. It knows nothing of earlier attempts.
sub attempt
{
	my ($n, $fault) = @_;
	my ($outcome, $action, $fence) = transaction('claim', $fault, qq{
		SELECT outcome, action, fence FROM idem_claim('acme', 'charge', '{"n": $n}')});
	return $outcome unless $action eq 'do' || $action eq 'verify';
	my $owner = "'acme', key_of($n, 'charge')";
	unless ($action eq 'verify' && $charged{$n})
	{
		transaction('mark', $fault, "SELECT idem_mark_sending($owner, $fence)");
		$charged{$n}++;
	}
	transaction('complete', $fault, "SELECT idem_complete($owner, 'ch_$n', fence => $fence)");
	return $outcome;
}

my @faults = map { ("$_, killed", "$_, answer lost") } qw(claim mark complete);
my %left = (
	'claim, killed' => '', 'claim, answer lost' => 'claimed',
	'mark, killed' => 'claimed', 'mark, answer lost' => 'sending',
	'complete, killed' => 'sending', 'complete, answer lost' => 'completed');
for my $n (1 .. @faults)
{
	my $fault = $faults[ $n - 1 ];
	ok(!eval { attempt($n, $fault) } && $@ eq "crashed\n", "$fault: the client is gone");
	is(ask($node, "SELECT state FROM idem_keys WHERE key = key_of($n, 'charge')"),
		$left{$fault}, "$fault: what the ledger knows");
}

# Those that come after it, two at a time.
my %ends_with = (
	'claim, killed' => 'claimed', 'claim, answer lost' => 'claimed',
	'mark, killed' => 'claimed', 'mark, answer lost' => 'takeover',
	'complete, killed' => 'takeover', 'complete, answer lost' => 'replayed');
for my $n (1 .. @faults)
{
	my $fault = $faults[ $n - 1 ];
	my $outcome = 'in_progress';
	my $deadline = time + $PostgreSQL::Test::Utils::timeout_default;
	while ($outcome eq 'in_progress' && time < $deadline)
	{
		$outcome = attempt($n, '');
		select undef, undef, undef, 0.1;
	}
	is($outcome, $ends_with{$fault}, "$fault: the next attempt");
	is(attempt($n, ''), 'replayed', "$fault: and the one after");
	is($charged{$n}, 1, "$fault: one charge");
}
is(ask($node, 'SELECT count(*) FROM idem_pending'), '0', 'nothing is pending');

# Whatever else an owner says: undone as a whole by a crash, and said again without harm.
my @calls = (
	[ 'idem_mark_sending', '%s', 'claimed', 'sending' ],
	[ 'idem_renew', '%s', 'claimed', 'claimed' ],
	[ 'idem_bind', q{'acme', %2$s, 'bank', 'b-' || %2$s, fence => %3$s}, 'claimed', 'claimed' ],
	[ 'idem_release', '%s', 'sending', 'released' ],
	[ 'idem_unknown', '%s', 'sending', 'unknown' ],
	[ 'idem_fail', q{'acme', %2$s, '{"code": 1}', %3$s}, 'sending', 'failed' ],
	[ 'idem_resolve', q{'acme', %2$s, 'completed', effect_ref => 'ch', note => 'seen'}, 'unknown', 'completed' ]);
$node->safe_psql('postgres', q{SELECT idem_define('charge', lease => '1 hour')});
my $n = 100;
for my $call (@calls)
{
	my ($name, $arguments, $before) = @$call;
	my $key = sprintf q{key_of(%d, 'charge')}, ++$n;
	my $fence = ask($node, qq{SELECT fence FROM idem_claim('acme', 'charge', '{"n": $n}')});
	ask($node, "SELECT idem_mark_sending('acme', $key, $fence)") if $before ne 'claimed';
	ask($node, "SELECT idem_unknown('acme', $key, $fence)") if $before eq 'unknown';
	my $sql = "SELECT $name(" . sprintf($arguments, "'acme', $key, $fence", $key, $fence) . ')';
	push @$call, $key, $sql, session($node);
}

# One crash for all of them: the kill of one backend ends the others, with their transactions open.
my @pids;
for my $call (@calls)
{
	my ($name, $key, $sql, $session) = @$call[ 0, 4, 5, 6 ];
	push @pids, ask($session, 'SELECT pg_backend_pid()');
	unlike(ask($session, "BEGIN; $sql"), qr/^(ID|\d)\w{3}$/, "$name: is said");
}
kill 'KILL', $pids[0];
wait_for($node, "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid IN (" . join(', ', @pids) . '))');
hang_up($_->[6]) for @calls;
for my $call (@calls)
{
	my ($name, $before, $after, $key, $sql) = @$call[ 0, 2 .. 5 ];
	my $state = "SELECT state FROM idem_keys WHERE key = $key";
	is(ask($node, $state), $before, "$name: was undone by the crash");
	my $first = ask($node, $sql);
	is(ask($node, $state), $after, "$name: is said again");
	my $again = ask($node, $sql);
	is(ask($node, $state), $after, "$name: and again, as by a client that lost the answer");
	note "$name: $first, then $again";
}
is(ask($node, q{SELECT count(*), count(DISTINCT key) FROM idem.provider_ref}), '1|1', 'one id of a provider');
is(ask($node, q{SELECT count(*) FROM idem_decisions}), '1', 'one decision');

$node->stop;
done_testing();
