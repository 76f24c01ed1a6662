# Patterns of fields survive pg_dump: the user's rows once, and the built-in ones not twice.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('patterns');
$node->init;
$node->start;
my $folder = PostgreSQL::Test::Utils::tempdir();
my $rows = "SELECT string_agg(p::text, E'\\n' ORDER BY p::text) FROM idem.known_field_pattern p";

$node->safe_psql('postgres', 'CREATE DATABASE source');
$node->safe_psql('source', 'CREATE EXTENSION pg_idem');
my $built_in = $node->safe_psql('source', $rows);
isnt($built_in, '', 'the extension brings patterns');

sub restored
{
	my ($target, @options) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $target TEMPLATE template0");
	$node->command_ok([ 'pg_dump', '-f', "$folder/$target", @options, 'source' ], "dumped for $target");
	$node->command_ok([ @options ? qw(pg_restore --exit-on-error) : qw(psql -Xq -v ON_ERROR_STOP=1), '-d', $target,
			@options ? "$folder/$target" : ('-f', "$folder/$target") ], "C114: $target is restored without an error");
	return $node->safe_psql($target, $rows);
}

is(restored('fresh'), $built_in, 'C114: a fresh extension has its own rows once');

# One of them says what a built-in row says already, as a later release may come to do.
$node->safe_psql('source', q{
	INSERT INTO idem.field_pattern (place, pattern, category, finding, reason) VALUES
		('schema', '^operator_id$', 'house rule', 'looks like our operator', 'Our gateway sets it.'),
		('schema', '^sent_at$', 'allowed', '', '');
	INSERT INTO idem.field_pattern SELECT pattern, place, category, finding, reason FROM idem.known_field_pattern WHERE category = 'nonce'});
my $expected = $node->safe_psql('source', $rows);
is(restored('plain'), $expected, 'C113: rows of the user are in a plain dump');
is(restored('custom', '-Fc'), $expected, 'C113: and in a custom one');
is($node->safe_psql('plain', q{SELECT field FROM idem_lint_schema('{"properties":{"operatorId":{},"sent_at":{}}}')}),
	'operatorId', 'C113: they count there');

$node->stop;
done_testing();
