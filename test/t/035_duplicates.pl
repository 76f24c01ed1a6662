# How often a key was claimed in vain: counted in shared memory, when the library is preloaded.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('duplicates');
$node->init;
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION pg_idem;
	SELECT idem_define('pay', identity => 'arguments');
	SELECT idem_record('acme', 'pay', '1'), idem_claim('acme', 'pay', '1');
	CREATE FUNCTION duplicates(tenant text, n int) RETURNS bigint LANGUAGE sql AS $$
		SELECT idem_duplicates(tenant, idem_key('acme', 'pay', to_jsonb(n))) $$;
});
is($node->safe_psql('postgres', q{SELECT duplicates('acme', 1) IS NULL}), 't', 'not counted without preloading');

$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_idem'\npg_idem.expire_interval = 0");
$node->restart;
is($node->safe_psql('postgres', q{SELECT duplicates('acme', 1)}), '0', 'counted from the start of the server');
$node->safe_psql('postgres', q{SELECT idem_claim('acme', 'pay', '1') FROM generate_series(1, 3)}) for 1 .. 2;
is($node->safe_psql('postgres', q{SELECT duplicates('acme', 1)}), '6', 'replays of two sessions');
is($node->safe_psql('postgres', q{SELECT duplicates('other', 1) IS NULL, duplicates('acme', 2) IS NULL}), 't|t',
	'nothing of another tenant, nor of a key that nobody knows');
is($node->safe_psql('postgres', q{
	SELECT count(idem_record('acme', 'pay', to_jsonb(n))) FROM generate_series(10, 109) n;
	SELECT sum(duplicates('acme', n)) FROM generate_series(10, 109) n;}), "100\n0", 'who comes to own a key is no duplicate');
my $background = $node->background_psql('postgres');
$background->query_safe(q{BEGIN; SELECT FROM idem_claim('acme', 'pay', '7')});
$node->safe_psql('postgres', q{SELECT idem_claim('acme', 'pay', '7')});
$background->query_safe(q{SELECT idem_complete('acme', idem_key('acme', 'pay', '7')); COMMIT});
$background->quit;
is($node->safe_psql('postgres', q{SELECT duplicates('acme', 7)}), '1', 'one that was told to wait');
$node->safe_psql('template1', 'CREATE DATABASE other');
$node->safe_psql('other', q{
	CREATE EXTENSION pg_idem; SELECT idem_define('pay', identity => 'arguments');
	SELECT idem_record('acme', 'pay', '1'), idem_claim('acme', 'pay', '1');});
is($node->safe_psql('postgres', q{SELECT duplicates('acme', 1)}), '6', 'databases are apart');
$node->stop;

done_testing();
