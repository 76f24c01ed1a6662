# The worker's life: it appears, obeys its settings, deletes what it should and nothing else, shares
# the database with others, and comes back after whatever ends it.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl";

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use PgIdemWorker;
use Test::More;

# Without preload: settings and functions, but no worker.
my $plain = worker_server('plain', 'shared_preload_libraries' => '');
$plain->start;
is( $plain->safe_psql('postgres', q{
	LOAD 'pg_idem';
	SELECT string_agg(concat_ws(' ', name, setting, unit, context, boot_val), ', ' ORDER BY name)
	FROM pg_settings WHERE name LIKE 'pg_idem.%'}),
	'pg_idem.expire_batch 1000 sighup 1000, pg_idem.expire_interval 1 s sighup 60',
	'both settings are known without preload, and change with a reload');
my ($status, undef, $error) = $plain->psql('postgres', "LOAD 'pg_idem'; SET pg_idem.expire_intervall = 5");
like($error, qr/"pg_idem" is a reserved prefix/, 'a misspelt setting is refused');
add_ledger($plain, 'postgres');
add_expired($plain, 'postgres', 3);
is($plain->safe_psql('postgres', 'SELECT idem_expire()'), '3', 'idem_expire works without preload');
is($plain->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'pg_idem%'"),
	'0', 'there is no launcher without preload');
$plain->stop;

# Interval 0: the launcher is there and does nothing.
my $node = worker_server('worker', 'pg_idem.expire_interval' => 0, 'max_prepared_transactions' => 5);
$node->start;
wait_for($node, 'postgres', q{
	SELECT wait_event_type = 'Extension' AND wait_event IS NOT NULL AND datname IS NULL
	       AND application_name = 'pg_idem launcher'
	FROM pg_stat_activity WHERE backend_type = 'pg_idem launcher'});
pass('the launcher appears with its type and wait event, connected to no database');
$node->safe_psql('postgres', 'CREATE DATABASE shop');
$node->safe_psql('postgres', 'CREATE DATABASE stock');
$node->safe_psql('postgres', 'CREATE DATABASE plain');
add_ledger($node, $_) for qw(shop stock);
add_expired($node, $_, 2500) for qw(shop stock);

# Beside them, what must stay: live keys, and keys that were never finished, however old.
$node->safe_psql('shop', q{
	SELECT idem_record('acme', 'pay', jsonb_build_object('n', n), n::text) FROM generate_series(1, 10) n;
	INSERT INTO idem.key (key, policy, state, tenant, claimed_at, lease_end, fence, attempt)
		SELECT gen_random_uuid(), 1, state::"char", 'acme', now() - interval '3 years',
		       now() - interval '3 years', 1, 1
		FROM unnest('{o,u,r}'::text[]) state});
wait_for($node, 'postgres', q{
	SELECT state = 'idle' AND query = 'off: pg_idem.expire_interval is 0'
	FROM pg_stat_activity WHERE backend_type = 'pg_idem launcher'});
is(keys_left($node, 'shop'), '2513', 'nothing goes while the interval is 0, and the launcher says so');
resume_worker($node);
wait_for($node, 'shop', "SELECT count(*) = 13 FROM idem.key");
wait_for($node, 'stock', "SELECT count(*) = 0 FROM idem.key");
pass('a reload turns the worker on; it visits every database');
is( $node->safe_psql('shop', q{SELECT string_agg(state || count, '' ORDER BY state) FROM
	(SELECT state::text, count(*) FROM idem.key GROUP BY state) s}),
	'c10o1r1u1', 'C023: live and unfinished keys stay, however old');
is($node->safe_psql('shop', 'SELECT count(*) FROM effect'), '2500', 'effects are not touched');
$node->wait_for_log(qr/LOG:  pg_idem deleted 2500 keys past their life in database "shop"/);
is(log_lines($node, 'pg_idem deleted 0 keys'), 0, 'a visit that deletes nothing says nothing');
wait_for($node, 'shop', "SELECT n_tup_del = 2500 FROM pg_stat_user_tables WHERE relname = 'key'");
pass('autovacuum learns of the deleted rows');

# A worker at work.
set_option($node, 'pg_idem.expire_batch', 1);
add_expired($node, 'shop', 30000);
my ($pid) = wait_for_worker($node, '^shop$');
is( $node->safe_psql('postgres', qq{
	SELECT application_name, state, query FROM pg_stat_activity WHERE backend_type = 'pg_idem worker'}),
	'pg_idem worker|active|deleting keys past their life', 'a worker says what it does');
set_option($node, 'pg_idem.expire_batch', 1000);
wait_for($node, 'shop', "SELECT count(*) = 13 FROM idem.key");
pass('a backlog is worked off in visits of a few seconds, with the batch of a reload');

# A row that somebody locks is left for later.
pause_worker($node);
add_expired($node, 'shop', 100);
my $session = $node->background_psql('shop');
$session->query_safe('BEGIN');
my $locked = $session->query_safe(
	"SELECT key FROM idem.key WHERE completed_at < now() - interval '1 day' LIMIT 1 FOR UPDATE");
resume_worker($node);
wait_for($node, 'shop', "SELECT count(*) = 14 FROM idem.key");
is($node->safe_psql('shop', "SELECT count(*) FROM idem.key WHERE key = '$locked'"),
	'1', 'a locked row is skipped');
$session->query_safe('ROLLBACK');
wait_for($node, 'shop', "SELECT count(*) = 13 FROM idem.key");
pass('and deleted when it is free');

# C098: a prepared transaction that nobody ends. It reclaims a key past its life.
pause_worker($node);
$node->safe_psql('stock', q{
	SELECT idem_record('acme', 'pay', '{"n": 77}', 'before');
	UPDATE idem.key SET completed_at = now() - interval '2 days'});
add_expired($node, 'stock', 10000);
$node->safe_psql('stock', q{
	BEGIN;
	SELECT idem_record('acme', 'pay', '{"n": 77}', 'after');
	SELECT idem_record('acme', 'pay', '{"n": 78}', 'after');
	PREPARE TRANSACTION 'forgotten'});
resume_worker($node);
wait_for($node, 'stock', 'SELECT count(*) = 1 FROM idem.key');
pass('C098: an abandoned prepared transaction keeps its own key only');
is( $node->safe_psql('stock', "SELECT gid, database FROM pg_prepared_xacts ORDER BY prepared LIMIT 1"),
	'forgotten|stock', 'C098: PostgreSQL names the oldest prepared transaction');
$node->safe_psql('stock', "COMMIT PREPARED 'forgotten'");
is($node->safe_psql('stock', 'SELECT string_agg(effect_ref, $$ $$) FROM idem.key'),
	'after after', 'C098: both keys of the prepared transaction are there');

# A foreign key on the ledger: said once, not each second.
my $offset = -s $node->logfile;
pause_worker($node);
$node->safe_psql('shop', q{
	CREATE TABLE child (key uuid CONSTRAINT child_of_ledger REFERENCES idem.key ON DELETE CASCADE)});
add_expired($node, 'shop', 5);
resume_worker($node);
$node->wait_for_log(qr/cannot delete keys while foreign key "child_of_ledger" references the ledger/, $offset);
pass_rounds($node, 'stock', 3);
is(log_lines($node, 'ERROR:', $offset), 1, 'an error that stays is logged once');
is(log_lines($node, 'CONTEXT:.*in database "shop"', $offset), 1, 'with its database');
is(keys_left($node, 'shop'), '18', 'no key is deleted while a foreign key references the ledger');
$node->safe_psql('shop', 'DROP TABLE child');
wait_for($node, 'shop', 'SELECT count(*) = 13 FROM idem.key');
$node->wait_for_log(qr/LOG:  pg_idem can delete keys in database "shop" again/, $offset);
pass('the log says when it works again');

# The SQL of the worker is on idem.sweep only. What its owner adds to that table runs as the owner.
$node->safe_psql('shop', q{
	CREATE ROLE keeper;
	CREATE TABLE witness (who text);
	GRANT INSERT ON witness TO keeper;
	GRANT USAGE ON SCHEMA idem TO keeper;
	CREATE FUNCTION witness() RETURNS trigger LANGUAGE plpgsql AS
		'BEGIN INSERT INTO public.witness VALUES (current_user); RETURN NULL; END';
	ALTER TABLE idem.sweep OWNER TO keeper;
	CREATE TRIGGER witness AFTER INSERT ON idem.sweep FOR EACH ROW EXECUTE FUNCTION witness()});
add_expired($node, 'shop', 5);
wait_for($node, 'shop', 'SELECT count(*) > 0 FROM witness');
is($node->safe_psql('shop', 'SELECT DISTINCT who FROM witness'), 'keeper', 'a trigger is not run as a superuser');
wait_for($node, 'shop', 'SELECT count(*) = 13 FROM idem.key');
$node->safe_psql('shop', 'DROP TRIGGER witness ON idem.sweep');

# A database that is read-only by default is left alone, without a word.
pause_worker($node);
$offset = -s $node->logfile;
add_expired($node, 'shop', 5);
$node->safe_psql('postgres', 'ALTER DATABASE shop SET default_transaction_read_only = on');
resume_worker($node);
pass_rounds($node, 'stock', 2);
is(keys_left($node, 'shop'), '18', 'default_transaction_read_only keeps the worker from deleting');
is(log_lines($node, 'ERROR:|FATAL:', $offset), 0, 'without an error');
$node->safe_psql('postgres', 'ALTER DATABASE shop RESET default_transaction_read_only');

# kill -9 ends all sessions, as PostgreSQL does then; the launcher comes back by itself.
set_option($node, 'pg_idem.expire_batch', 1);
add_expired($node, 'shop', 20000);
my $launcher = launcher_pid($node);
($pid) = wait_for_worker($node, '^shop$');
kill 'KILL', $pid;
$node->wait_for_log(qr/background worker "pg_idem worker" \(PID $pid\) was terminated by signal 9/);
$session->{run}->finish;
$node->poll_query_until('postgres', qq{
	SELECT pid <> $launcher FROM pg_stat_activity WHERE backend_type = 'pg_idem launcher'})
  or die 'the launcher did not come back';
($pid) = wait_for_worker($node, '^shop$');
pass('after kill -9 of a worker and the restart, workers run again');

# pg_terminate_backend: the worker's database is left alone for a round or two.
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
wait_for_worker($node, '^shop$');
pass('after pg_terminate_backend of a worker, another one comes');

# Shutdown does not wait for the end of a visit.
cmp_ok(seconds_of(sub { $node->stop('fast') }), '<', 5, 'a fast shutdown does not wait for a worker');
is(log_lines($node, 'terminating background worker "pg_idem launcher"'), 0, 'the launcher goes quietly');

# pg_upgrade starts servers with -b; nothing may write then.
command_ok([ 'pg_ctl', '-D', $node->data_dir, '-l', $node->logfile, '-w', '-o', '-b', 'start' ],
	'starts for a binary upgrade');
is( $node->safe_psql('postgres', q{
	SELECT current_setting('pg_idem.expire_interval'),
	       (SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'pg_idem%')}),
	'1s|0', 'there is no launcher in a server for a binary upgrade');
system_or_bail('pg_ctl', '-D', $node->data_dir, '-w', '-m', 'fast', 'stop');

# No slot for a worker: the logical replication launcher and ours have one each, a query the third.
my $full = worker_server('full', 'pg_idem.expire_interval' => 0, 'max_worker_processes' => 3,
	'max_parallel_workers' => 8);
$full->start;
add_ledger($full, 'postgres');
add_expired($full, 'postgres', 10);
my $hog = $full->background_psql('postgres', on_error_stop => 0);
$hog->query_until(qr/asked/, "SET force_parallel_mode = on;\n\\echo asked\nSELECT pg_sleep(600);\n");
wait_for($full, 'postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'parallel worker'");
resume_worker($full);
$full->wait_for_log(qr/LOG:  pg_idem found no free background worker slot/);
is(keys_left($full, 'postgres'), '10', 'without a slot nothing is deleted');
$full->safe_psql('postgres',
	"SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'");
wait_for($full, 'postgres', 'SELECT count(*) = 0 FROM idem.key');
is(log_lines($full, 'pg_idem found no free background worker slot'), 1, 'which is logged once');
is(log_lines($full, 'pg_idem has a background worker slot again'), 1, 'as is that there is one again');
$hog->quit;
$full->stop;

done_testing();
