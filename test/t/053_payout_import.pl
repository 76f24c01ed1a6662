# examples/payout_import.sql: a file of 50,000 payouts, imported three times.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('payouts');
$node->init;
$node->append_conf('postgresql.conf', 'max_locks_per_transaction = 64');
$node->start;

my ($output, $errors);
PostgreSQL::Test::Utils::run_log(
	[ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-f', 'examples/payout_import.sql', '-d', $node->connstr('postgres') ],
	'>', \$output, '2>', \$errors);
is($errors, '', 'the example runs');
my $bad = 'refused|1|key field "amount" is not a number or a decimal string';
is($output, <<"EOT", 'all lines but the bad one are paid out once, and that one when it is mended');
created
claimed|49999|
$bad
49999|12500202.89
$bad
replayed|49999|
49999|12500202.89
claimed|1|
replayed|49999|
50000|12500215.39
EOT
is($node->safe_psql('postgres', q{
	SELECT count(*), count(DISTINCT p.key), count(*) FILTER (WHERE k.effect_ref = p.id::text AND k.state = 'completed')
	FROM payout p LEFT JOIN idem_keys k ON k.key = p.key}), '50000|50000|50000', 'one effect for each key');
is($node->safe_psql('postgres', 'SELECT count(*) FROM idem.key'), '50000', 'and one key for each effect');

# Broken off in the middle, nothing of it is there.
$node->safe_psql('postgres', 'DELETE FROM idem.key; DELETE FROM payout');
my ($status, undef, $stderr) = $node->psql('postgres', q{BEGIN; SELECT count(*) FROM import_file(); SELECT 1 / 0; COMMIT;}, on_error_stop => 1);
like($stderr, qr/division by zero/, 'an import that fails at its end');
is($node->safe_psql('postgres', 'SELECT (SELECT count(*) FROM idem.key), (SELECT count(*) FROM payout)'), '0|0', 'leaves neither a key nor a payout');
is($node->safe_psql('postgres', 'SELECT lines FROM import_file()'), '50000', 'and is done as a whole the next time');
$node->stop;

done_testing();
