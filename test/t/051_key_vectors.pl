# docs/key-vectors.jsonl: what the extension makes, and what a program without it makes of the same.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

-d 'node_modules/canonicalize' or die 'needs the npm package canonicalize 5.1.0 in ./node_modules';

my $vectors = slurp_file('docs/key-vectors.jsonl');
my $script = 'examples/key_vectors.mjs';

my $node = PostgreSQL::Test::Cluster->new('vectors');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION pg_idem');
my ($made, $errors);
PostgreSQL::Test::Utils::run_log(
	[ 'psql', '-XqAt', '-f', 'test/vectors/make_key_vectors.sql', '-d', $node->connstr('postgres') ],
	'>', \$made, '2>', \$errors);
is($errors, '', 'the vectors are made without an error');
is($made, $vectors, 'C139: the extension makes the vectors that are in the documentation');
$node->stop;

command_like([ 'node', $script, 'docs/key-vectors.jsonl' ],
	qr/^29 vectors, 0 differ$/, 'C139: a Node script makes every key and fingerprint of them');

# A check that cannot fail is none.
my $folder = PostgreSQL::Test::Utils::tempdir();
my $broken = $vectors =~ s/"amount":129\.990/"amount":129.980/r =~ s/"bound":\{"amount":129\.99\},"fingerprint":"7/"bound":{"amount":129.99},"fingerprint":"8/r;
append_to_file("$folder/broken.jsonl", $broken);
command_checks_all([ 'node', $script, "$folder/broken.jsonl" ], 1,
	[ qr/^differs: the worked example\ndiffers: version 12, and no prefix but the name\n29 vectors, 2 differ$/ ],
	[qr/^$/], 'it sees a key and a fingerprint that are not those of the request');

my @lines = split /\n/, slurp_file($script);
cmp_ok(scalar @lines, '<=', 60, 'it is short enough to be read');

done_testing();
