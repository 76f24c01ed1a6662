# C031: keys expire, and are purged, at the moment they are claimed again.
#
# Every key is past its life as soon as it is completed, so each claim either replaces a row or
# meets the purge at it. Logical decoding tells what was committed: a row for every effect.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl";

use PgIdem;
use Test::More;

my $node = new_server('expiry_race',
	init => { allows_streaming => 'logical' },
	conf => 'max_connections = 20');
$node->safe_psql('postgres', q{
	SELECT idem_define('pay', retention => '1 microsecond');
	CREATE TABLE tally (purged bigint);
	INSERT INTO tally VALUES (0);
	SELECT pg_create_logical_replication_slot('committed', 'test_decoding')});

$node->pgbench(
	'-n -c 6 -j 2 -t 500', 0,
	[qr{actually processed: 3000/3000}, qr{number of failed transactions: 0}],
	[qr{^(?!.*ERROR)}s],
	'C031: 2,400 claims of five keys and 600 purges, no error',
	{
		'claim@4' => q{
			\set n random(1, 5)
			BEGIN;
			SELECT action = 'do' AS mine
				FROM idem_claim('acme', 'pay', jsonb_build_object('n', :n)) \gset
			\if :mine
			SELECT finish(:n);
			SELECT 1 / (look_up(:n) = 'replayed')::int;
			\endif
			COMMIT;},
		'purge@1' => 'UPDATE tally SET purged = purged + idem_expire();'
	});

$node->safe_psql('postgres', q{
	CREATE TABLE change AS
		SELECT xid::text,
		       count(*) FILTER (WHERE data LIKE 'table public.effect: INSERT%') AS effects,
		       count(*) FILTER (WHERE data LIKE 'table idem.key: INSERT%') AS inserted,
		       count(*) FILTER (WHERE data LIKE 'table idem.key: DELETE%') AS deleted
		FROM pg_logical_slot_get_changes('committed', NULL, NULL) GROUP BY xid});
my ($effects, $lost, $invented) = split /\|/, $node->safe_psql('postgres', q{
	SELECT sum(effects), count(*) FILTER (WHERE effects > inserted),
	       count(*) FILTER (WHERE effects < inserted)
	FROM change});
is($lost, '0', 'C031: no claim was told to do the effect and lost its row');
is($invented, '0', 'C031: no row came without an effect');
is($node->safe_psql('postgres', 'SELECT count(*) FROM effect'),
	$effects, 'C031: all effects were decoded');
is( ask($node, 'SELECT sum(inserted - deleted) = (SELECT count(*) FROM idem.key) FROM change'),
	't', 'C031: what was not deleted is there');
my ($purged, $replaced) = split /\|/, $node->safe_psql('postgres', q{
	SELECT purged, (SELECT sum(deleted) FROM change) - purged FROM tally});
cmp_ok($purged, '>', 0, "C031: the purge met $purged rows");
cmp_ok($replaced, '>', 0, "C031: claims met $replaced");

$node->safe_psql('postgres', q{SELECT pg_drop_replication_slot('committed')});
$node->stop;
done_testing();
