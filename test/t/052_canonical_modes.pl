# The three modes of the canonical form on random documents, against npm canonicalize.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

-d 'node_modules/canonicalize' or die 'needs the npm package canonicalize 5.1.0 in ./node_modules';

my $node = PostgreSQL::Test::Cluster->new('modes');
$node->init;
$node->start;

my $seed = $ENV{PG_IDEM_SEED} // 8785;
note "seed $seed";
my $file = PostgreSQL::Test::Utils::tempdir() . '/documents.jsonl';
ok(run_log([ 'node', 'test/node/random_documents.mjs', '20000', $seed ], '>', $file), 'documents are made');

# Neither of the two characters can stand in JSON text.
$node->safe_psql('postgres', qq{
	CREATE EXTENSION pg_idem;
	CREATE TABLE line (n serial, line jsonb);
	COPY line (line) FROM '$file' (FORMAT csv, DELIMITER E'\\x02', QUOTE E'\\x01', ENCODING 'UTF8');
	CREATE TABLE document AS SELECT n, (line->>'text')::jsonb AS document, line->>'rfc8785' AS wanted FROM line;
	CREATE FUNCTION attempt(document jsonb, mode text) RETURNS text LANGUAGE plpgsql AS \$\$
	BEGIN
		RETURN idem_canonical(document, mode);
	EXCEPTION WHEN numeric_value_out_of_range THEN
		RETURN NULL;
	END \$\$;
	CREATE TABLE got AS SELECT *, attempt(document, 'exact') AS exact, attempt(document, 'strict') AS strict,
		attempt(document, 'rfc8785') AS rfc8785 FROM document});

sub none
{
	my ($condition, $name) = @_;
	is($node->safe_psql('postgres', "SELECT document FROM got WHERE $condition ORDER BY n LIMIT 3"), '', $name);
	return;
}

is($node->safe_psql('postgres', 'SELECT count(*) FROM got'), '20000', 'all documents are there');
none('rfc8785 IS DISTINCT FROM wanted', 'C040: rfc8785 is what npm canonicalize writes, and an error where it has one');
none('strict <> wanted', 'C040: strict never writes anything else');
none('(strict IS NULL) <> (exact IS DISTINCT FROM wanted)', 'C044: strict is an error exactly where exact and npm canonicalize differ');
none('strict IS NOT NULL AND strict <> exact', 'strict is exact, or an error');
none('exact IS NULL OR exact <> idem_canonical(document)', 'exact is always there, and the default');
none('exact::jsonb <> document', 'exact is the same document');
none('rfc8785 IS NOT NULL AND attempt(rfc8785::jsonb, \'strict\') IS DISTINCT FROM rfc8785', 'what rfc8785 writes is strict');

for my $count (
	[ 'strict IS NOT NULL', 8000, 'agree' ],
	[ 'strict IS NULL AND rfc8785 IS NOT NULL', 800, 'differ' ],
	[ 'rfc8785 IS NULL', 100, 'overflow' ])
{
	my ($condition, $least, $what) = @$count;
	cmp_ok($node->safe_psql('postgres', "SELECT count(*) FROM got WHERE $condition"), '>', $least,
		"documents on which they $what are among them");
}

$node->stop;
done_testing();
