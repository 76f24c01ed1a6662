# What the tests with whole servers share: a server with the extension, two operations and an effect
# that can be counted, and sessions that answer with a result or an SQLSTATE.
package PgIdem;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Cluster;

our @EXPORT = qw(new_server session ask send_off hang_up wait_for);

# An effect of intent n is a row of table effect. One row too many is the fault all this is about.
my $fixture = <<'SQL';
CREATE EXTENSION pg_idem;
SELECT idem_define('pay', key_fields => '{"n": "exact"}');
SELECT idem_define('call', key_fields => '{"n": "exact"}', effect => 'external', lease => '1 hour');
CREATE TABLE effect (n int NOT NULL);

CREATE FUNCTION key_of(n int, operation text DEFAULT 'pay') RETURNS text
	RETURN idem_key('acme', operation, jsonb_build_object('n', n));

CREATE FUNCTION claim(n int, operation text DEFAULT 'pay', wait interval DEFAULT '0') RETURNS text
	BEGIN ATOMIC
	SELECT outcome FROM idem_claim('acme', operation, jsonb_build_object('n', n), wait => wait);
END;

CREATE FUNCTION look_up(n int, operation text DEFAULT 'pay') RETURNS text
	BEGIN ATOMIC
	SELECT outcome FROM idem_lookup('acme', operation, jsonb_build_object('n', n));
END;

CREATE FUNCTION finish(n int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO effect VALUES (n);
	RETURN idem_complete('acme', key_of(n), effect_ref => n::text);
END $$;

CREATE FUNCTION pay(n int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer idem.claim := idem_claim('acme', 'pay', jsonb_build_object('n', n));
BEGIN
	IF answer.action = 'do' THEN
		PERFORM finish(n);
	END IF;
	RETURN answer.outcome;
END $$;
SQL

# new_server(NAME, init => {...}, conf => "..."): started, with the fixture in database postgres.
sub new_server
{
	my ($name, %options) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(%{ $options{init} // {} });
	# Cluster.pm's defaults are for short tests: a killed backend must not end the server here.
	$node->append_conf('postgresql.conf',
		join "\n", 'log_statement = none', 'restart_after_crash = on', $options{conf} // '');
	$node->start;
	$node->safe_psql('postgres', $fixture);
	return $node;
}

sub session
{
	my ($node, $database, %options) = @_;
	my $session = $node->background_psql($database // 'postgres', on_error_stop => 0, %options);
	$session->query('\set VERBOSITY sqlstate');
	return $session;
}

# What a session or a server answers; the SQLSTATE if that is an error.
sub ask
{
	my ($where, $sql) = @_;
	my ($answer, $errors);
	if ($where->isa('PostgreSQL::Test::Cluster'))
	{
		(undef, $answer, $errors) = $where->psql('postgres', "\\set VERBOSITY sqlstate\n$sql");
	}
	else
	{
		$answer = $where->query($sql);
		$errors = $where->{stderr};
		$where->{stderr} = '';
	}
	return $1 if $errors =~ /(?:ERROR|FATAL):\s+(\w{5})/;
	return $answer;
}

# Sends what will not answer yet. The next ask() on the session gets the answer too.
sub send_off
{
	my ($session, $sql) = @_;
	$session->query_until(qr/sent/, "\\echo sent\n$sql;\n");
	return;
}

# Ends the client without a word, as a crash of it does.
sub hang_up
{
	my ($session) = @_;
	$session->{run}->signal('KILL');
	eval { $session->{run}->finish };
	return;
}

# Waits until a query on the server answers 't'.
sub wait_for
{
	my ($node, $query) = @_;
	$node->poll_query_until('postgres', $query) or die "never came true: $query";
	return;
}

1;
