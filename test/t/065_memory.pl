# Fifty thousand errors through every boundary, and a thousand interrupted claims, in one session:
# its memory stays what it was, it holds no lock, and it goes on working (C161).

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl";

use PostgreSQL::Test::Utils;
use PgIdem;
use Test::More;

my $node = new_server('memory', conf => 'log_min_messages = fatal');
$node->safe_psql('postgres', q{
	SELECT idem_define('money', key_fields => '{"amount": "minor_units(2)"}');
	SELECT idem_define('step', identity => 'occurrence');
	SELECT idem_define('whole', identity => 'arguments');
	CREATE FUNCTION refuse(arguments jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO effect VALUES ((arguments->>'n')::int);
		RAISE EXCEPTION USING ERRCODE = 'P0042', MESSAGE = 'refused',
			DETAIL = repeat('because ', 100);
	END $$;
	SELECT claim(0, 'call'), pay(0);

	-- Every statement ends in an error, in a sub-transaction of its own.
	CREATE TABLE fault (statement text);
	INSERT INTO fault VALUES
		($$SELECT idem_claim(NULL, 'pay', '{}')$$),
		($$SELECT idem_claim('acme', 'nothing', '{}')$$),
		($$SELECT idem_claim('acme', 'pay', '{"n": null, "note": "some text"}')$$),
		($$SELECT idem_claim('acme', 'money', '{"amount": 1.234}')$$),
		($$SELECT idem_claim('acme', 'step', '{}')$$),
		($$SELECT idem_claim('acme', 'pay', '{"n": 1}', wait => '-1 s')$$),
		($$SELECT idem_complete('acme', key_of(0, 'call'), response => to_jsonb(repeat('x', 3000)),
		                        fence => 1)$$),
		($$SELECT idem_complete('acme', key_of(0), 'another')$$),
		($$SELECT idem_complete('acme', 'pay_0123456789abcdef0123456789abcdef')$$),
		($$SELECT idem_resolve('acme', key_of(0, 'call'), 'retry')$$),
		($$SELECT idem_define('pay', key_fields => '{"n": "upper"}')$$),
		($$SELECT idem_define('bad', key_fields => '{"n": "no such normaliser"}')$$),
		($$SELECT idem_record('acme', 'call', '{"n": 1}')$$),
		($$SELECT idem_once('acme', 'pay', '{"n": 1}', 'refuse(jsonb)')$$),
		($$SELECT 1 / (outcome <> 'failed')::int
		   FROM idem_once('acme', 'pay', '{"n": 1}', 'refuse(jsonb)', on_error => 'fail')$$),
		($$SELECT claim(1), finish(1), 1 / 0$$);
	CREATE PROCEDURE provoke(rounds int, INOUT counts text DEFAULT NULL) LANGUAGE plpgsql AS $$
	DECLARE
		faults text[] := ARRAY(SELECT statement FROM fault);
		statement text;
		number int[] := array_fill(0, ARRAY[array_length(faults, 1)]);
		met text[] := faults;
	BEGIN
		FOR round IN 1..rounds LOOP
			FOR i IN 1..array_length(faults, 1) LOOP
				BEGIN
					EXECUTE faults[i];
				EXCEPTION WHEN OTHERS THEN
					number[i] := number[i] + 1;
					met[i] := SQLSTATE;
				END;
			END LOOP;
			IF round % 100 = 0 THEN COMMIT; END IF;
		END LOOP;
		counts := (SELECT string_agg(state || ' ' || times, ', ' ORDER BY at)
		           FROM unnest(met, number) WITH ORDINALITY u(state, times, at));
	END $$});

my $session = session($node);
my $pid = ask($session, 'SELECT pg_backend_pid()');

# Contexts as the server counts them, and what the process has from the system but shared buffers.
sub memory
{
	my $contexts = ask($session, 'SELECT sum(total_bytes) FROM pg_backend_memory_contexts');
	my ($process) = slurp_file("/proc/$pid/status") =~ /^RssAnon:\s+(\d+) kB/m;
	return ($contexts, $process);
}

sub memory_is_flat
{
	my ($before, $what) = @_;
	my @after = memory();
	cmp_ok($after[0] - $before->[0],
		'<=', 64 * 1024, "C161: memory contexts are as before $what (bytes more)");
	cmp_ok($after[1] - $before->[1], '<=', 2 * 1024, "C161: so is the process (kB more)");
	is( ask($session, q{
			SELECT count(*) FROM pg_locks WHERE locktype = 'userlock' AND pid = pg_backend_pid()}),
		'0', "C161: no key is locked after $what");
	return;
}

my @states = qw(22004 ID001 ID011 ID012 ID013 22023 ID022 ID023 ID021 ID027 ID003 ID002 ID024
  P0042 22012 22012);
ask($session, 'CALL provoke(100)');
my @before = memory();
is(ask($session, 'CALL provoke(3200)'),
	join(', ', map { "$_ 3200" } @states), 'C161: 51,200 errors, each the right one');
memory_is_flat(\@before, '51,200 errors');
is(ask($session, 'SELECT count(*), sum(n) FROM effect'),
	'1|0', 'C161: no effect but the one before');

# Runs a statement over and over, each time for so many milliseconds at most. Answers how many ended
# in which SQLSTATE.
sub repeat
{
	my ($times, $timeout, $statement) = @_;
	ask($session, "SET statement_timeout = $timeout");
	$session->query("$statement;\n" x $times);
	my %count;
	++$count{$1} while $session->{stderr} =~ /(?:ERROR|FATAL):\s+(\w{5})/g;
	$session->{stderr} = '';
	ask($session, 'RESET statement_timeout');
	return join ', ', map { "$_ $count{$_}" } sort keys %count;
}

@before = memory();
is(repeat(1000, 0, 'SELECT claim(2)'), 'ID025 1000', 'C161: a thousand claims left open at COMMIT');
memory_is_flat(\@before, 'a thousand claims left open');

my $owner = session($node);
ask($owner, 'BEGIN; SELECT claim(3)');
repeat(10, 1, q{SELECT claim(3, wait => '1 hour')});
@before = memory();
is(repeat(1000, 1, q{SELECT claim(3, wait => '1 hour')}),
	'57014 1000', 'C161: a thousand waits are cut short');
memory_is_flat(\@before, 'a thousand waits');
is(ask($owner, 'SELECT finish(3); COMMIT'),
	'completed', 'C161: the claim that they waited for is unharmed');
$owner->quit;

# Large arguments, with time enough and without.
ask($session, q{
	CREATE TABLE large AS
	SELECT jsonb_build_object('a', jsonb_agg(n), 's', repeat('x', 1000000)) AS a
	FROM generate_series(1, 20000) n});
is(ask($session, q{SELECT outcome FROM large, idem_record('acme', 'whole', a)}),
	'claimed', 'C161: a megabyte of arguments');
@before = memory();
repeat(250, 1, q{
	SELECT outcome FROM large, idem_record('acme', 'whole', a || '{"b": 1}');
	SELECT idem_digest(a) FROM large});
memory_is_flat(\@before, 'five hundred megabytes of arguments');
is( ask($session, q{
		SELECT outcome
		FROM idem_record('acme', 'whole', jsonb_build_object('s', repeat('x', 250000000)))}),
	'claimed', 'C161: arguments near the limit of jsonb');
memory_is_flat(\@before, 'the largest arguments');

is(ask($session, 'SELECT pay(4)'), 'claimed', 'C161: the session goes on working');
$session->quit;
$node->stop;
done_testing();
