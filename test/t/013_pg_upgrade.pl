# pg_upgrade carries the ledger over, into a cluster whose other OIDs are new.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl";

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use PgIdem;
use Test::More;

my $old = new_server('old');
is(ask($old, q{SELECT count(*) FROM generate_series(1, 10) n WHERE pay(n) = 'claimed'}),
	'10', 'ten payments');
is(ask($old, q{SELECT claim(11, 'call')}), 'claimed', 'an external claim');
my $new = PostgreSQL::Test::Cluster->new('new');
$new->init;
$old->stop;

# It writes where it stands.
chdir $old->basedir or die "cannot enter the folder of the old cluster: $!";
my $bindir = $old->config_data('--bindir');
command_ok(
	[
		'pg_upgrade', '--no-sync', '-b', $bindir, '-B', $bindir, '-s', $new->host,
		'-d', $old->data_dir, '-p', $old->port, '-D', $new->data_dir, '-P', $new->port
	],
	'pg_upgrade');
$new->start;
is(ask($new, q{SELECT count(*) FROM generate_series(1, 10) n WHERE pay(n) = 'replayed'}),
	'10', 'all payments are replayed');
is(ask($new, q{SELECT claim(11, 'call')}), 'in_progress', 'the lease is in force');
is( ask($new, q{SELECT idem_complete('acme', key_of(11, 'call'), 'x', fence => fence) FROM idem.key
		WHERE key = right(key_of(11, 'call'), 32)::uuid}),
	'completed', 'and its fence fits');
is(ask($new, q{SELECT idem_define('pay', key_fields => '{"n": "upper"}')}),
	'ID003', 'a frozen recipe is frozen still');
is(ask($new, 'SELECT pay(12)'), 'claimed', 'a new payment');
is(ask($new, 'SELECT count(*), count(DISTINCT n) FROM effect'), '11|11', 'one effect each');

$new->stop;
done_testing();
