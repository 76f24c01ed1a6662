-- pg_idem 0.1.0: install script. Functions go to the schema that CREATE EXTENSION names, tables to
-- the schema idem, which the script creates itself so that nobody can have planted objects in it.
\echo Use "CREATE EXTENSION pg_idem" to load this file. \quit

CREATE SCHEMA idem;
COMMENT ON SCHEMA idem IS 'pg_idem: the ledger and its policies';

------------------------------------------------------------------------------------------------
-- Tables
------------------------------------------------------------------------------------------------

CREATE TABLE idem.operation (
	id                 smallint    NOT NULL PRIMARY KEY CHECK (id > 0),
	operation          text        NOT NULL CHECK (operation ~ '^[a-z][a-z0-9_.-]*$' AND length(operation) <= 63),
	version            integer     NOT NULL CHECK (version > 0),
	identity           text        NOT NULL CHECK (identity IN ('fields', 'arguments', 'occurrence')),
	key_fields         jsonb       CHECK ((key_fields IS NOT NULL) = (identity = 'fields')),
	unchecked_fields   text[]      NOT NULL DEFAULT '{}',
	key_prefix         text        NOT NULL CHECK (key_prefix ~ '^[a-z][a-z0-9_.-]*$' AND length(key_prefix) <= 63),
	effect             text        NOT NULL CHECK (effect IN ('local', 'external')),
	retention          interval    NOT NULL CHECK (retention > '0'),
	failure_retention  interval    NOT NULL CHECK (failure_retention > '0'),
	lease              interval    NOT NULL CHECK (lease >= '1 millisecond'),
	retry_after        interval    NOT NULL CHECK (retry_after > '0'),
	max_response_bytes integer     NOT NULL CHECK (max_response_bytes >= 0),
	defined_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
	unlinked           boolean     NOT NULL DEFAULT false,
	retired            boolean     NOT NULL DEFAULT false,
	bind               text        NOT NULL CHECK (bind IN ('all', 'none')),
	arguments          text        NOT NULL CHECK (arguments IN ('digests', 'stored')),
	repeat_after       interval    CHECK (repeat_after IS NULL OR (repeat_after > '0' AND identity <> 'occurrence')),
	sending            text        NOT NULL CHECK (sending IN ('assumed', 'recorded')),
	on_lost_lease      text        NOT NULL CHECK (on_lost_lease IN ('hold', 'takeover')),
	provider_window    interval    CHECK (provider_window > '0'),
	max_attempts       integer     CHECK (max_attempts > 0),
	retryable_statuses integer[],
	conflict_hint      text,
	exclusive          text[]      CHECK (exclusive IS NULL OR (exclusive <> '{}' AND effect = 'external')),
	UNIQUE (operation, version)
);
COMMENT ON TABLE idem.operation IS 'one row a version of an operation: its recipe (frozen once it has keys) and its settings';
COMMENT ON COLUMN idem.operation.id IS 'what idem.key.policy refers to';
COMMENT ON COLUMN idem.operation.operation IS 'its name, which is part of every key';
COMMENT ON COLUMN idem.operation.version IS 'part of every key but those of identity occurrence; a claim that names none uses the highest';
COMMENT ON COLUMN idem.operation.key_prefix IS 'what keys begin with, before "_" and 32 hex digits';
COMMENT ON COLUMN idem.operation.effect IS 'local: rows in this database; external: a call to another system';
COMMENT ON COLUMN idem.operation.retention IS 'how long a completed key answers, from its completion; a month counts as 30 days';
COMMENT ON COLUMN idem.operation.failure_retention IS 'how long a key that failed for good answers';
COMMENT ON COLUMN idem.operation.lease IS 'external effects: how long an attempt is protected, from its claim';
COMMENT ON COLUMN idem.operation.retry_after IS 'what in_progress tells a caller to wait, at most';
COMMENT ON COLUMN idem.operation.defined_at IS 'when this version was defined';
COMMENT ON COLUMN idem.operation.identity IS 'what makes two requests one intent: fields, arguments or occurrence';
COMMENT ON COLUMN idem.operation.key_fields IS 'path of an argument => normaliser; for identity fields only';
COMMENT ON COLUMN idem.operation.unchecked_fields IS 'paths that a repeat may change freely';
COMMENT ON COLUMN idem.operation.unlinked IS 'true: an intent under this version is another one than under a lower version';
COMMENT ON COLUMN idem.operation.retired IS 'true: no new claims, and no look-ups under this version';
COMMENT ON COLUMN idem.operation.bind IS 'all: what is not in the key is bound by the fingerprint; none: nothing but the key is checked';
COMMENT ON COLUMN idem.operation.arguments IS
	'digests: of the arguments, only what names the fields of a conflict is kept; stored: they are kept as they came';
COMMENT ON COLUMN idem.operation.repeat_after IS
	'an identical intent is a new effect once the one before has been finished for longer than this; NULL: never';
COMMENT ON COLUMN idem.operation.sending IS
	'external effects. assumed: a claim counts as sent from its commit on; recorded: from idem_mark_sending on';
COMMENT ON COLUMN idem.operation.on_lost_lease IS
	'what becomes of an attempt that may have been sent and was lost. hold: unresolved, until a person decides; takeover: the next claim owns it, and has to look';
COMMENT ON COLUMN idem.operation.provider_window IS
	'how long the provider knows a repeat by its key, from the first sending: takeover inside of it, unresolved beyond; NULL: on_lost_lease says';
COMMENT ON COLUMN idem.operation.max_attempts IS 'how many attempts a key may have before a person decides; NULL: any number';
COMMENT ON COLUMN idem.operation.retryable_statuses IS 'HTTP statuses after which to try again, for idem_retryable; NULL: the usual ones';
COMMENT ON COLUMN idem.operation.conflict_hint IS 'what a client is told of a conflict: how to read the effect that is there, or how to make a request distinct';
COMMENT ON COLUMN idem.operation.exclusive IS
	'external effects: arguments that make up the subject; of the intents of one subject, only one may be under way';
COMMENT ON COLUMN idem.operation.max_response_bytes IS 'a larger response is not stored: the replay says response_omitted';

CREATE TABLE idem.retention_change (
	policy            smallint    NOT NULL,
	changed_at        timestamptz NOT NULL,
	retention         interval    NOT NULL,
	failure_retention interval    NOT NULL,
	PRIMARY KEY (policy, changed_at)
);
COMMENT ON TABLE idem.retention_change IS
	'former retentions of a policy, each with the moment it was replaced: a shorter one applies to later completions only';

COMMENT ON COLUMN idem.retention_change.policy IS 'idem.operation.id';
COMMENT ON COLUMN idem.retention_change.changed_at IS 'when the retentions beside it were replaced';
COMMENT ON COLUMN idem.retention_change.retention IS 'the retention before that moment';
COMMENT ON COLUMN idem.retention_change.failure_retention IS 'the retention of failures before that moment';

-- The first eight columns are all that a finished local key needs: a row that ends there has a null
-- bitmap of one byte, which keeps its header at 24 bytes, and so has one with leaves that has an
-- effect_ref as well (docs/storage.md).
CREATE TABLE idem.key (
	key              uuid        NOT NULL PRIMARY KEY,
	completed_at     timestamptz,
	elapsed          integer,
	policy           smallint    NOT NULL,
	state            "char"      NOT NULL,
	tenant           text        NOT NULL,
	effect_ref       text,
	fingerprint      uuid,
	leaves           bytea,
	response         jsonb,
	response_omitted boolean,
	claimed_at       timestamptz,
	lease_end        timestamptz,
	fence            bigint,
	attempt          integer,
	note             text,
	arguments        jsonb,
	generation       integer,
	sent_at          timestamptz,
	retry_at         timestamptz,
	attempts_before  integer,
	subject          uuid,
	in_doubt         boolean
);
-- Of what is not finished: few rows, of external effects, which a worker and a person look for.
CREATE INDEX key_unfinished_idx ON idem.key (policy) WHERE completed_at IS NULL;
CREATE INDEX key_subject_idx ON idem.key (subject) WHERE completed_at IS NULL AND subject IS NOT NULL;
COMMENT ON TABLE idem.key IS 'the ledger: one row a key that was finished, or claimed for an external effect';
COMMENT ON COLUMN idem.key.key IS 'first 128 bits of the SHA-256 of the key''s preimage';
COMMENT ON COLUMN idem.key.completed_at IS 'when it was finished (completed, failed or abandoned); NULL before that';
COMMENT ON COLUMN idem.key.elapsed IS 'milliseconds from the claim to the finish, at most 2147483647';
COMMENT ON COLUMN idem.key.policy IS 'idem.operation.id of the version that the key was written under';
COMMENT ON COLUMN idem.key.state IS 'p claimed and not sent, o claimed and perhaps sent, u unknown, r released, c completed, f failed, a abandoned';
COMMENT ON COLUMN idem.key.tenant IS 'whose key it is; part of the key';
COMMENT ON COLUMN idem.key.effect_ref IS 'the caller''s id of the effect row or provider object';
COMMENT ON COLUMN idem.key.fingerprint IS
	'first 128 bits of the SHA-256 of the arguments that are bound but not in the key; NULL when there are none';
COMMENT ON COLUMN idem.key.leaves IS
	'eight bytes for each of these arguments, by which a conflict names those that differ; NULL when there are none, too many, or the arguments themselves';
COMMENT ON COLUMN idem.key.response IS 'the receipt that a repeat gets, or the stored error';
COMMENT ON COLUMN idem.key.response_omitted IS 'true: the response was larger than max_response_bytes and is not here';
COMMENT ON COLUMN idem.key.claimed_at IS 'external effects: when the present attempt claimed the key';
COMMENT ON COLUMN idem.key.lease_end IS 'external effects: until when the present attempt is protected';
COMMENT ON COLUMN idem.key.fence IS 'external effects: the secret of the present attempt';
COMMENT ON COLUMN idem.key.attempt IS 'external effects: number of the present attempt, from 1';
COMMENT ON COLUMN idem.key.note IS 'what the person who resolved the key wrote';
COMMENT ON COLUMN idem.key.arguments IS 'the arguments as they were claimed, when the policy has them stored';
COMMENT ON COLUMN idem.key.sent_at IS 'external effects: when the first attempt was sent, as far as is known; provider_window counts from it';
COMMENT ON COLUMN idem.key.retry_at IS 'released or unknown: when the next attempt may begin; NULL: at once';
COMMENT ON COLUMN idem.key.attempts_before IS 'attempts before a person said retry, which do not count for max_attempts';
COMMENT ON COLUMN idem.key.subject IS 'first 128 bits of the SHA-256 of what the intent shares with others that must not be under way at once';
COMMENT ON COLUMN idem.key.in_doubt IS 'true: an attempt before the present one may have taken effect';
COMMENT ON COLUMN idem.key.generation IS 'how often the intent was repeated on purpose, from 1 (NULL); part of the key from 2 on';

CREATE TABLE idem.alias (
	alias uuid NOT NULL,
	key   uuid NOT NULL,
	PRIMARY KEY (alias, key)
);
CREATE INDEX alias_key_idx ON idem.alias (key);
COMMENT ON TABLE idem.alias IS 'the keys that a row''s intent has under lower versions of its operation';
COMMENT ON COLUMN idem.alias.alias IS 'the key under a lower version';
COMMENT ON COLUMN idem.alias.key IS 'idem.key.key of the row';

-- Not unique: two transactions that add the same name at one moment must not wait for each other.
CREATE TABLE idem.path (
	policy smallint NOT NULL,
	digest integer  NOT NULL,
	path   text     NOT NULL
);
CREATE INDEX path_policy_digest_idx ON idem.path (policy, digest);
ALTER TABLE idem.path REPLICA IDENTITY FULL;
COMMENT ON TABLE idem.path IS
	'names of the fields that rows have digests of, at most 256 a policy: so that a conflict can name a field which the request lacks';
COMMENT ON COLUMN idem.path.policy IS 'idem.operation.id';
COMMENT ON COLUMN idem.path.digest IS 'the first four bytes of a leaf in idem.key.leaves';
COMMENT ON COLUMN idem.path.path IS 'the path, as key_fields spells it';

CREATE TABLE idem.decision (
	key          uuid        NOT NULL,
	generation   integer     NOT NULL,
	decided_at   timestamptz NOT NULL,
	decided_by   text        NOT NULL,
	state_before "char"      NOT NULL,
	decision     text        NOT NULL,
	effect_ref   text,
	note         text
);
CREATE INDEX decision_key_idx ON idem.decision (key);
ALTER TABLE idem.decision REPLICA IDENTITY FULL;
COMMENT ON TABLE idem.decision IS 'what people have decided by idem_resolve';
COMMENT ON COLUMN idem.decision.key IS 'idem.key.key';
COMMENT ON COLUMN idem.decision.generation IS 'of the key that was decided on';
COMMENT ON COLUMN idem.decision.decided_by IS 'the user of the session';
COMMENT ON COLUMN idem.decision.state_before IS 'the state that the key was in, as idem.key has it';
COMMENT ON COLUMN idem.decision.decision IS 'completed, retry or abandoned';

CREATE TABLE idem.late_report (
	key         uuid        NOT NULL,
	generation  integer     NOT NULL,
	reported_at timestamptz NOT NULL,
	reported_by text        NOT NULL,
	fence       bigint      NOT NULL,
	effect_ref  text        NOT NULL
);
CREATE INDEX late_report_key_idx ON idem.late_report (key);
ALTER TABLE idem.late_report REPLICA IDENTITY FULL;
COMMENT ON TABLE idem.late_report IS 'effects that attempts have reported after they had lost their key: perhaps done twice';
COMMENT ON COLUMN idem.late_report.key IS 'idem.key.key';
COMMENT ON COLUMN idem.late_report.generation IS 'of the key that the attempt had';
COMMENT ON COLUMN idem.late_report.reported_by IS 'the user of the session';
COMMENT ON COLUMN idem.late_report.fence IS 'the secret of the attempt';

CREATE TABLE idem.provider_ref (
	tenant       text        NOT NULL,
	provider     text        NOT NULL CHECK (provider <> ''),
	provider_ref text        NOT NULL CHECK (provider_ref <> ''),
	key          uuid        NOT NULL,
	generation   integer     NOT NULL,
	bound_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
	PRIMARY KEY (tenant, provider, provider_ref)
);
CREATE INDEX provider_ref_key_idx ON idem.provider_ref (key);
COMMENT ON TABLE idem.provider_ref IS 'ids that providers have given to effects: whose webhook is it, and was it done for another key';
COMMENT ON COLUMN idem.provider_ref.provider IS 'a name for who gives the ids';
COMMENT ON COLUMN idem.provider_ref.provider_ref IS 'the id';
COMMENT ON COLUMN idem.provider_ref.key IS 'idem.key.key';
COMMENT ON COLUMN idem.provider_ref.generation IS 'of the key that was bound';

-- Unlogged: it can be lost at any time, and so no publication carries it to another server's ledger.
CREATE UNLOGGED TABLE idem.sweep (
	block_range integer     NOT NULL PRIMARY KEY,
	due         timestamptz NOT NULL,
	file        oid         NOT NULL,
	lives       bigint      NOT NULL
);
COMMENT ON TABLE idem.sweep IS
	'expiry''s memory: no row in this range of 128 blocks of idem.key can be past its life before due. Safe to empty at any time';
COMMENT ON COLUMN idem.sweep.block_range IS 'number of the range: its first block is 128 times this';
COMMENT ON COLUMN idem.sweep.due IS 'no row of the range is past its life before this';
COMMENT ON COLUMN idem.sweep.lives IS 'digest of all retentions when the range was read: another one can make rows due earlier';
COMMENT ON COLUMN idem.sweep.file IS 'relfilenode of idem.key when the range was read: VACUUM FULL and CLUSTER move rows to a new file';

SELECT pg_catalog.pg_extension_config_dump('idem.operation', '');
SELECT pg_catalog.pg_extension_config_dump('idem.retention_change', '');
SELECT pg_catalog.pg_extension_config_dump('idem.key', '');
SELECT pg_catalog.pg_extension_config_dump('idem.alias', '');
SELECT pg_catalog.pg_extension_config_dump('idem.path', '');
SELECT pg_catalog.pg_extension_config_dump('idem.decision', '');
SELECT pg_catalog.pg_extension_config_dump('idem.late_report', '');
SELECT pg_catalog.pg_extension_config_dump('idem.provider_ref', '');

------------------------------------------------------------------------------------------------
-- Guards on the policies, raw SQL included
------------------------------------------------------------------------------------------------

CREATE FUNCTION idem.check_policy(operation text, version integer, identity text, key_fields jsonb,
                                  unchecked_fields text[], bind text, exclusive text[]) RETURNS void
	LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'pg_idem_check_policy';
COMMENT ON FUNCTION idem.check_policy(text, integer, text, jsonb, text[], text, text[]) IS
	'raises ID002 for a recipe that cannot be read, or whose paths overlap';

CREATE FUNCTION idem.has_rows(policy smallint) RETURNS boolean
	LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'pg_idem_has_rows';
COMMENT ON FUNCTION idem.has_rows(smallint) IS
	'whether a policy has rows now, whatever the snapshot of the transaction, or claims of this transaction';

-- Claims of other transactions are in their memory only, until they commit. In slices: whoever queues for
-- a lock makes all that come later queue behind it, and one forgotten transaction must not stop every
-- claim for as long as it is forgotten. The slices grow, so that a stream of transactions is waited out
-- and the deadlock detector, which looks after deadlock_timeout, sees this wait; and they come to an end.
CREATE FUNCTION idem.wait_for_claims() RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET lock_timeout = 0 AS $$
DECLARE
	slice integer := 100; -- milliseconds
	give_up timestamptz := clock_timestamp() + interval '1 minute';
BEGIN
	LOOP
		PERFORM set_config('lock_timeout', slice::text, true);
		BEGIN
			LOCK TABLE idem.key IN SHARE MODE;
			RETURN;
		EXCEPTION WHEN lock_not_available THEN
			IF clock_timestamp() > give_up THEN
				RAISE EXCEPTION 'transactions with claims did not end within a minute' USING ERRCODE = '55P03',
					DETAIL = 'The definition would change what their claims mean.',
					HINT = 'Look for idle transactions in pg_stat_activity and pg_prepared_xacts, end them, and try again.';
			END IF;
		END;
		PERFORM pg_sleep(slice / 1000.0);
		slice := least(slice * 2, 2000);
	END LOOP;
END $$;
COMMENT ON FUNCTION idem.wait_for_claims() IS
	'waits until no transaction holds claims, and lets none begin until this transaction ends';

CREATE FUNCTION idem.has_keys(policy smallint) RETURNS boolean
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF idem.has_rows(policy) THEN
		RETURN true;
	END IF;
	PERFORM idem.wait_for_claims();
	RETURN idem.has_rows(policy);
END $$;
COMMENT ON FUNCTION idem.has_keys(smallint) IS 'whether keys were written under a policy; waits for claims in flight';

-- Whether two intents of `lower` can be one of `higher`, or which one it is cannot be told.
CREATE FUNCTION idem.drops_key_field(lower idem.operation, higher idem.operation) RETURNS boolean
	LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
	SELECT CASE
		WHEN (lower.identity, higher.identity) = ('fields', 'fields') THEN
			EXISTS (SELECT jsonb_object_keys(lower.key_fields) EXCEPT SELECT jsonb_object_keys(higher.key_fields))
		WHEN (lower.identity, higher.identity) = ('fields', 'arguments') THEN
			EXISTS (SELECT FROM jsonb_object_keys(lower.key_fields) field, unnest(higher.unchecked_fields) unchecked
			        WHERE field = unchecked OR starts_with(field, unchecked || '.') OR starts_with(unchecked, field || '.'))
		WHEN (lower.identity, higher.identity) = ('arguments', 'arguments') THEN
			EXISTS (SELECT FROM unnest(higher.unchecked_fields) unchecked
			        WHERE NOT EXISTS (SELECT FROM unnest(lower.unchecked_fields) before
			                          WHERE unchecked = before OR starts_with(unchecked, before || '.')))
		ELSE lower.identity <> higher.identity
		END
$$;
COMMENT ON FUNCTION idem.drops_key_field(idem.operation, idem.operation) IS
	'whether the key of a version leaves out what the key of a lower one has';

CREATE FUNCTION idem.check_link(lower idem.operation, higher idem.operation) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF NOT lower.retired AND idem.drops_key_field(lower, higher) THEN
		RAISE EXCEPTION 'version % of operation "%" drops a key field of version %',
			higher.version, higher.operation, lower.version USING ERRCODE = 'ID002',
			DETAIL = 'Two intents of the lower version would be one under the higher version.',
			HINT = 'Say unlinked => true when an intent under the higher version is another one than under lower versions.';
	END IF;
END $$;
COMMENT ON FUNCTION idem.check_link(idem.operation, idem.operation) IS
	'raises ID002 when a version drops a key field of a lower one that it is linked to';

-- A version marked unlinked ends the way downwards: it is linked to higher versions only.
CREATE FUNCTION idem.are_linked(lower idem.operation, higher idem.operation) RETURNS boolean
	LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
	SELECT lower.operation = higher.operation AND lower.version < higher.version AND NOT higher.unlinked
		AND NOT EXISTS (SELECT FROM idem.operation o WHERE o.operation = lower.operation AND o.unlinked
		                AND o.version > lower.version AND o.version < higher.version)
$$;
COMMENT ON FUNCTION idem.are_linked(idem.operation, idem.operation) IS
	'whether two versions of one operation share intents';

CREATE FUNCTION idem.guard_operation() RETURNS trigger
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF TG_OP = 'TRUNCATE' THEN
		IF EXISTS (SELECT FROM idem.operation o WHERE idem.has_keys(o.id)) THEN
			RAISE EXCEPTION 'cannot truncate idem.operation while keys exist' USING ERRCODE = 'ID004';
		END IF;
		RETURN NULL;
	ELSIF TG_OP = 'DELETE' THEN
		IF idem.has_keys(OLD.id) THEN
			RAISE EXCEPTION 'operation "%" version % has keys', OLD.operation, OLD.version
				USING ERRCODE = 'ID004',
				      HINT = 'Keys go when their retention has passed; until then repeats of their intents are recognised by this policy.';
		END IF;
		DELETE FROM idem.retention_change c WHERE c.policy = OLD.id;
		DELETE FROM idem.path p WHERE p.policy = OLD.id;
		RETURN OLD;
	ELSIF TG_OP = 'INSERT' THEN
		PERFORM idem.check_policy(NEW.operation, NEW.version, NEW.identity, NEW.key_fields, NEW.unchecked_fields, NEW.bind, NEW.exclusive);
		-- A transaction that claims under the versions it knows must end before there is a further one: its
		-- claims and those under the new version could not see each other.
		IF NEW.version > 1 THEN
			PERFORM idem.wait_for_claims();
		END IF;
		RETURN NEW;
	END IF;
	IF (NEW.id, NEW.operation, NEW.version, NEW.identity, NEW.key_fields, NEW.unchecked_fields, NEW.key_prefix, NEW.effect, NEW.unlinked, NEW.bind, NEW.exclusive)
	   IS DISTINCT FROM
	   (OLD.id, OLD.operation, OLD.version, OLD.identity, OLD.key_fields, OLD.unchecked_fields, OLD.key_prefix, OLD.effect, OLD.unlinked, OLD.bind, OLD.exclusive)
	THEN
		IF idem.has_keys(OLD.id) THEN
			RAISE EXCEPTION 'the recipe of operation "%" version % is frozen, because it has keys', OLD.operation, OLD.version
				USING ERRCODE = 'ID003',
				      DETAIL = 'Identity, key fields, unchecked fields, prefix, effect and what is bound decide which request is which intent.',
				      HINT = pg_catalog.format('Define the new recipe as a new version: idem_define(%L, version => %s, ...).',
				                               OLD.operation, OLD.version + 1);
		END IF;
		-- Their rows carry keys under this recipe.
		IF EXISTS (SELECT FROM idem.operation h WHERE idem.are_linked(OLD, h) AND idem.has_keys(h.id)) THEN
			RAISE EXCEPTION 'the recipe of operation "%" version % is frozen, because a higher version has keys', OLD.operation, OLD.version
				USING ERRCODE = 'ID003',
				      DETAIL = 'Keys of a higher version are found by the keys that they have under this recipe.',
				      HINT = 'Define the new recipe as a new version.';
		END IF;
		PERFORM idem.check_policy(NEW.operation, NEW.version, NEW.identity, NEW.key_fields, NEW.unchecked_fields, NEW.bind, NEW.exclusive);
		PERFORM idem.check_link(l, NEW) FROM idem.operation l WHERE idem.are_linked(l, NEW);
		PERFORM idem.check_link(NEW, h) FROM idem.operation h WHERE idem.are_linked(NEW, h);
	END IF;
	IF NEW.retired AND NOT OLD.retired THEN
		IF idem.has_keys(OLD.id) THEN
			RAISE EXCEPTION 'operation "%" version % has keys', OLD.operation, OLD.version USING ERRCODE = 'ID004',
				HINT = 'Keys go when their retention has passed; until then repeats of their intents are recognised by this policy.';
		END IF;
	ELSIF OLD.retired AND NOT NEW.retired THEN
		RAISE EXCEPTION 'version % of operation "%" stays retired', OLD.version, OLD.operation USING ERRCODE = 'ID003',
			DETAIL = 'Keys that higher versions have written meanwhile cannot be found by it.';
	END IF;
	IF (NEW.retention, NEW.failure_retention) IS DISTINCT FROM (OLD.retention, OLD.failure_retention) THEN
		INSERT INTO idem.retention_change (policy, changed_at, retention, failure_retention)
			VALUES (OLD.id, pg_catalog.clock_timestamp(), OLD.retention, OLD.failure_retention);
	END IF;
	RETURN NEW;
END $$;
COMMENT ON FUNCTION idem.guard_operation() IS 'trigger: freezes recipes that have keys, remembers former retentions';

CREATE FUNCTION idem.policy_changed() RETURNS trigger
	LANGUAGE C AS 'MODULE_PATHNAME', 'pg_idem_policy_changed';
COMMENT ON FUNCTION idem.policy_changed() IS 'trigger: makes every session forget its cached policies';

CREATE TRIGGER guard BEFORE INSERT OR UPDATE OR DELETE ON idem.operation
	FOR EACH ROW EXECUTE FUNCTION idem.guard_operation();
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON idem.operation
	FOR EACH STATEMENT EXECUTE FUNCTION idem.guard_operation();
-- By row, since a logical subscription fires no others.
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE ON idem.operation
	FOR EACH ROW EXECUTE FUNCTION idem.policy_changed();
CREATE TRIGGER changed_truncate AFTER TRUNCATE ON idem.operation
	FOR EACH STATEMENT EXECUTE FUNCTION idem.policy_changed();
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE ON idem.retention_change
	FOR EACH ROW EXECUTE FUNCTION idem.policy_changed();
CREATE TRIGGER changed_truncate AFTER TRUNCATE ON idem.retention_change
	FOR EACH STATEMENT EXECUTE FUNCTION idem.policy_changed();
COMMENT ON TRIGGER guard ON idem.operation IS 'freezes recipes that have keys';
COMMENT ON TRIGGER guard_truncate ON idem.operation IS 'freezes recipes that have keys';
COMMENT ON TRIGGER changed ON idem.operation IS 'makes every session read the policies again';
COMMENT ON TRIGGER changed_truncate ON idem.operation IS 'makes every session read the policies again';
COMMENT ON TRIGGER changed ON idem.retention_change IS 'makes every session read the policies again';
COMMENT ON TRIGGER changed_truncate ON idem.retention_change IS 'makes every session read the policies again';
-- Logical apply and pg_restore --disable-triggers must not leave sessions with stale policies.
ALTER TABLE idem.operation ENABLE ALWAYS TRIGGER changed, ENABLE ALWAYS TRIGGER changed_truncate;
ALTER TABLE idem.retention_change ENABLE ALWAYS TRIGGER changed, ENABLE ALWAYS TRIGGER changed_truncate;

------------------------------------------------------------------------------------------------
-- Canonical form
------------------------------------------------------------------------------------------------

CREATE FUNCTION idem_canonical(document jsonb) RETURNS text
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'pg_idem_canonical';
COMMENT ON FUNCTION idem_canonical(jsonb) IS
	'the canonical text of a document: RFC 8785, but numbers keep their exact digits';

CREATE FUNCTION idem_digest(document jsonb) RETURNS bytea
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'pg_idem_digest';
COMMENT ON FUNCTION idem_digest(jsonb) IS 'SHA-256 of the canonical text (UTF-8)';

------------------------------------------------------------------------------------------------
-- Other modes of the canonical form
------------------------------------------------------------------------------------------------

CREATE FUNCTION idem_canonical(document jsonb, mode text) RETURNS text
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20 AS 'MODULE_PATHNAME', 'pg_idem_canonical_mode';
COMMENT ON FUNCTION idem_canonical(jsonb, text) IS
	'exact: the canonical text; strict: the same, or an error if RFC 8785 has another; rfc8785: what RFC 8785 has, its numbers being doubles';

------------------------------------------------------------------------------------------------
-- Fields that do not belong where they are
------------------------------------------------------------------------------------------------

CREATE TABLE idem.field_pattern (
	pattern  text    NOT NULL CHECK (('' ~ pattern) IS NOT NULL),
	place    text    NOT NULL CHECK (place IN ('schema', 'key', 'unchecked')),
	category text    NOT NULL CHECK (category <> ''),
	finding  text    NOT NULL,
	reason   text    NOT NULL,
	PRIMARY KEY (pattern, place)
);
COMMENT ON TABLE idem.field_pattern IS
	'names of fields that do not belong where they are: read by idem_lint_schema, idem_strip_schema and the warnings of idem_define. The built-in ones are in the view idem.known_field_pattern';
COMMENT ON COLUMN idem.field_pattern.pattern IS
	'regular expression on the last name of a path, in lower case with underscores: request_id for requestID and X-Request-Id alike';
COMMENT ON COLUMN idem.field_pattern.place IS
	'where the field does not belong: schema (what a model fills), key (key fields), unchecked (unchecked fields)';
COMMENT ON COLUMN idem.field_pattern.category IS
	'a word for the kind of field. The category allowed is an exception: where such a row matches, no other counts';
COMMENT ON COLUMN idem.field_pattern.finding IS 'the end of the sentence "field ... of operation ..."';
COMMENT ON COLUMN idem.field_pattern.reason IS 'why it does not belong there and what to do, in sentences';
SELECT pg_catalog.pg_extension_config_dump('idem.field_pattern', '');

-- The names are searched for in snake_case. Names that mean something else to a business stay out: pull_request_id,
-- delivery_number, send_at, max_attempts.
-- A view, since a table that is filled on installation is what a restore and a subscription would fill again.
CREATE VIEW idem.known_field_pattern AS
	SELECT built_in.pattern, built_in.place, built_in.category, built_in.finding, built_in.reason, true AS built_in
	FROM (VALUES
	('schema', 'idempotency key', 'looks like an idempotency key',
		'A model that makes up keys makes up another one when it repeats itself. The key is computed from the intent.',
		'(^|_)(idempotency|idempotence|idempotent|idem)_?(key|token|id)$|^(x_)?idempotenc[ey]$'),
	('schema', 'dedupe token', 'looks like a deduplication token',
		'A model that makes up tokens makes up another one when it repeats itself. The key is computed from the intent.',
		'(^|_)de_?dup(e|lication)?_?(key|token|id|hash)$|^client_(request_)?token$|^request_token$'),
	('schema', 'request id', 'looks like an id of the request',
		'It names one sending of a call, and a model can only make it up. Whoever sends the call sets it.',
		'^(x_)?(client_|http_|api_|parent_|root_|amzn_)?(request|req|trace|span|correlation|causation|invocation|attempt|tool_?call|tool_?use)_?(id|uuid|guid)$|^pay_?pal_request_id$|^trace_?(parent|state)$'),
	('schema', 'nonce', 'looks like a nonce',
		'It is meant to be random, and what a model makes up is not. Whoever sends the call sets it.',
		'(^|_)nonce$|^jti$'),
	('schema', 'attempt counter', 'looks like an attempt counter',
		'A model does not know how often a call was sent. Whoever sends it again counts.',
		'^(?!max_|min_)(.*_)?(attempt|retry|try)_?(number|no|num|nr|count|counter|index)$|^(re)?delivery_?(count|attempts?)$|^(attempts?|retry|retries|tries|is_retry|redelivered)$'),
	('schema', 'time of sending', 'looks like the time of sending',
		'A model has no clock. Whoever sends the call sets the time.',
		'^(.*_)?(sent|submitted)_?(at|time|timestamp|ts)$|^(requested|created|issued)_?at$|^(client|request|sending|submission|current)_?(time|timestamp|ts|datetime)$|^send_?(timestamp|ts)$|^(timestamp|ts|now|iat)$'),
	('key', 'time', 'looks like a timestamp', 'A value that changes between attempts makes each attempt a new intent. Leave it out of the key fields: it is bound by the fingerprint, or name it in unchecked_fields.',
		'(^|_)(timestamp|ts|now|time|datetime|at)$'),
	('key', 'attempt counter', 'looks like an attempt counter', 'A value that changes between attempts makes each attempt a new intent. Leave it out of the key fields: it is bound by the fingerprint, or name it in unchecked_fields.',
		'(^|_)(attempts?|retry|retries|retry_count|try|tries|delivery_count)$'),
	('key', 'request id', 'looks like an id of the request', 'A value that changes between attempts makes each attempt a new intent. Leave it out of the key fields: it is bound by the fingerprint, or name it in unchecked_fields.',
		'(^|_)(request|trace|span|correlation|call|message|session|run)_?(id|uuid)$|^(nonce|uuid|idempotency_key|jti)$'),
	('key', 'prose', 'looks like prose, which a model rewords', 'A value that changes between attempts makes each attempt a new intent. Leave it out of the key fields: it is bound by the fingerprint, or name it in unchecked_fields.',
		'(^|_)(reason|notes?|memo|description|comments?|message|text|body|summary|explanation|details?|prompt|subject)$'),
	('unchecked', 'consequence', 'decides what the effect does',
		'A repeat that changes an unchecked field is answered as a replay of the first request.',
		'(^|_)(amount|currency|recipient|dry_run)$')) built_in (place, category, finding, reason, pattern)
	UNION ALL
	SELECT p.pattern, p.place, p.category, p.finding, p.reason, false FROM idem.field_pattern p;
COMMENT ON VIEW idem.known_field_pattern IS 'the patterns that are searched for: the built-in ones, and those of idem.field_pattern';

CREATE FUNCTION idem.find_pattern(name text, place text) RETURNS TABLE (category text, finding text, reason text)
	LANGUAGE sql STABLE PARALLEL SAFE ROWS 1 SET search_path = pg_catalog, pg_temp AS $$
	SELECT best.category, best.finding, best.reason FROM (
		SELECT p.* FROM idem.known_field_pattern p
			WHERE p.place = find_pattern.place
			  AND lower(regexp_replace(regexp_replace(regexp_replace(name,
				'([A-Z])([A-Z][a-z])', '\1_\2', 'g'), '([a-z0-9])([A-Z])', '\1_\2', 'g'), '[^[:alnum:]]+', '_', 'g')) ~ p.pattern
			ORDER BY p.category = 'allowed' DESC, p.built_in, p.category, p.pattern
			LIMIT 1) best
		WHERE best.category <> 'allowed'
$$;
COMMENT ON FUNCTION idem.find_pattern(text, text) IS
	'why a field of this name does not belong in a place, by the user''s patterns before the built-in ones; no row when it may be there';

CREATE FUNCTION idem.members(value jsonb) RETURNS TABLE (name text, member jsonb)
	LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 5 SET search_path = pg_catalog, pg_temp AS $$
	SELECT * FROM jsonb_each(CASE jsonb_typeof(value) WHEN 'object' THEN value ELSE '{}' END)
$$;
COMMENT ON FUNCTION idem.members(jsonb) IS 'the members of an object; none of anything else';

CREATE FUNCTION idem.elements(value jsonb) RETURNS TABLE (index integer, element jsonb)
	LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 5 SET search_path = pg_catalog, pg_temp AS $$
	SELECT (n - 1)::integer, e
		FROM jsonb_array_elements(CASE jsonb_typeof(value) WHEN 'array' THEN value ELSE '[]' END) WITH ORDINALITY list (e, n)
$$;
COMMENT ON FUNCTION idem.elements(jsonb) IS 'the elements of an array, counted from 0; none of anything else';

CREATE FUNCTION idem.subschemas(schema jsonb) RETURNS TABLE (path text[], subschema jsonb)
	LANGUAGE sql STABLE PARALLEL SAFE ROWS 5 SET search_path = pg_catalog, pg_temp AS $$
	SELECT ARRAY[k.name], k.member FROM idem.members(schema) k
		WHERE k.name IN ('items', 'additionalItems', 'unevaluatedItems', 'contains', 'additionalProperties',
		                 'unevaluatedProperties', 'if', 'then', 'else',
		                 'function', 'parameters', 'input_schema', 'inputSchema')
		  AND jsonb_typeof(k.member) <> 'array' -- whose elements are below; looked at twice, each level would double
	UNION ALL
	SELECT ARRAY[k.name, m.name], m.member FROM idem.members(schema) k CROSS JOIN LATERAL idem.members(k.member) m
		WHERE k.name IN ('patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies')
		   OR k.name = 'properties' AND NOT EXISTS (SELECT FROM idem.find_pattern(m.name, 'schema'))
	UNION ALL
	SELECT ARRAY[k.name, e.index::text], e.element FROM idem.members(schema) k CROSS JOIN LATERAL idem.elements(k.member) e
		WHERE k.name IN ('allOf', 'anyOf', 'oneOf', 'items', 'prefixItems',
		                 'tools', 'functionDeclarations', 'function_declarations')
	UNION ALL
	SELECT ARRAY[e.index::text], e.element FROM idem.elements(schema) e
$$;
COMMENT ON FUNCTION idem.subschemas(jsonb) IS
	'what stands directly inside of a JSON Schema, of a tool''s definition or of a list of them, and is a schema itself. Not what is no schema (enum, default, examples), what says what must not be (not), and what a tool gives back';

-- A field is named where it is declared, and once more where it is required: all of that has to go. Compiling the query
-- would take a hundred times as long as running it.
CREATE FUNCTION idem.foreign_fields(schema jsonb)
	RETURNS TABLE (node text[], path text[], index integer, field text, category text, reason text)
	LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp SET jit = off AS $$
	WITH RECURSIVE node (path, schema) AS (
		SELECT '{}'::text[], foreign_fields.schema
		UNION ALL
		SELECT node.path || s.path, s.subschema FROM node CROSS JOIN LATERAL idem.subschemas(node.schema) s
	), named (node, path, index, field) AS (
		SELECT n.path, n.path || ARRAY['properties', m.name], NULL::integer, m.name
			FROM node n CROSS JOIN LATERAL idem.members(n.schema->'properties') m
		UNION ALL
		SELECT n.path, n.path || ARRAY['required', e.index::text], e.index, e.element #>> '{}'
			FROM node n CROSS JOIN LATERAL idem.elements(n.schema->'required') e
		UNION ALL
		SELECT n.path, n.path || ARRAY[k, m.name], NULL, m.name
			FROM node n CROSS JOIN unnest('{dependentRequired, dependentSchemas, dependencies}'::text[]) k
				CROSS JOIN LATERAL idem.members(n.schema->k) m
		UNION ALL
		SELECT n.path, n.path || ARRAY[k, m.name, e.index::text], e.index, e.element #>> '{}'
			FROM node n CROSS JOIN unnest('{dependentRequired, dependencies}'::text[]) k
				CROSS JOIN LATERAL idem.members(n.schema->k) m CROSS JOIN LATERAL idem.elements(m.member) e
	)
	SELECT n.node, n.path, n.index, n.field, p.category, p.reason
		FROM named n CROSS JOIN LATERAL idem.find_pattern(n.field, 'schema') p
$$;
COMMENT ON FUNCTION idem.foreign_fields(jsonb) IS
	'every place of a schema that names a field which the model must not fill: its path, as #> and #- take it, with the index if it is in a list';

CREATE FUNCTION idem_lint_schema(schema jsonb) RETURNS TABLE (path text[], field text, category text, reason text)
	LANGUAGE sql STABLE STRICT PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
	SELECT l.path, l.field, l.category, l.reason FROM (
		SELECT DISTINCT ON (f.node, f.field) f.* FROM idem.foreign_fields(schema) f
			ORDER BY f.node, f.field, f.index NULLS FIRST, f.path DESC) l
		ORDER BY l.path COLLATE "C"
$$;
COMMENT ON FUNCTION idem_lint_schema(jsonb) IS
	'the fields of a JSON Schema, or of a tool''s definition, that the model must not fill, each with the reason. The path is what #> takes';

CREATE FUNCTION idem_strip_schema(schema jsonb) RETURNS jsonb
	LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	place text[];
BEGIN
	-- From the end of each list, so that the indexes before it stay right.
	FOR place IN SELECT f.path FROM idem.foreign_fields(schema) f ORDER BY f.index DESC NULLS LAST LOOP
		schema := schema #- place;
	END LOOP;
	RETURN schema;
END $$;
COMMENT ON FUNCTION idem_strip_schema(jsonb) IS
	'the schema without the fields that idem_lint_schema finds, neither declared nor required; all else as it was';

REVOKE ALL ON FUNCTION
	idem.find_pattern(text, text), idem.members(jsonb), idem.elements(jsonb), idem.subschemas(jsonb), idem.foreign_fields(jsonb)
	FROM PUBLIC;

------------------------------------------------------------------------------------------------
-- Operations
------------------------------------------------------------------------------------------------

CREATE FUNCTION idem.warn_about_fields(operation text, key_fields jsonb, unchecked_fields text[]) RETURNS void
	LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	field record;
BEGIN
	FOR field IN
		SELECT l.place, l.path, p.finding, p.reason
			FROM (SELECT 'key' AS place, k AS path FROM jsonb_object_keys(key_fields) k
			      UNION ALL
			      SELECT 'unchecked', u FROM unnest(unchecked_fields) u) l
				CROSS JOIN LATERAL idem.find_pattern(trim(both '"' from regexp_replace(l.path, '^.*\.', '')), l.place) p
	LOOP
		RAISE WARNING '% field "%" of operation "%" %', field.place, field.path, operation, field.finding USING HINT = field.reason;
	END LOOP;
END $$;
COMMENT ON FUNCTION idem.warn_about_fields(text, jsonb, text[]) IS 'warns of fields that idem.field_pattern says do not belong in the key, or must not be unchecked';

CREATE FUNCTION idem_define(
	operation text,
	version integer DEFAULT NULL,
	identity text DEFAULT NULL,
	key_fields jsonb DEFAULT NULL,
	unchecked_fields text[] DEFAULT NULL,
	key_prefix text DEFAULT NULL,
	effect text DEFAULT NULL,
	retention interval DEFAULT NULL,
	failure_retention interval DEFAULT NULL,
	lease interval DEFAULT NULL,
	retry_after interval DEFAULT NULL,
	max_response_bytes integer DEFAULT NULL,
	unlinked boolean DEFAULT NULL,
	bind text DEFAULT NULL,
	arguments text DEFAULT NULL,
	repeat_after interval DEFAULT NULL,
	sending text DEFAULT NULL,
	on_lost_lease text DEFAULT NULL,
	provider_window interval DEFAULT NULL,
	max_attempts integer DEFAULT NULL,
	retryable_statuses integer[] DEFAULT NULL,
	conflict_hint text DEFAULT NULL,
	exclusive text[] DEFAULT NULL
) RETURNS text
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	old idem.operation;
	new idem.operation;
	states_recipe boolean := coalesce(identity, key_fields::text, unchecked_fields::text, key_prefix, effect, unlinked::text, bind, exclusive::text) IS NOT NULL;
	next_id smallint;
BEGIN
	IF operation IS NULL OR operation !~ '^[a-z][a-z0-9_.-]*$' OR length(operation) > 63 THEN
		RAISE EXCEPTION 'invalid operation name' USING ERRCODE = 'ID002',
			DETAIL = 'A name starts with a lower-case letter and holds lower-case letters, digits, "_", "." and "-", up to 63.';
	END IF;
	IF version < 1 THEN
		RAISE EXCEPTION 'invalid version of operation "%"', operation USING ERRCODE = 'ID002',
			DETAIL = 'Versions are counted from 1.';
	END IF;
	-- Serialises definitions against each other; claims read policies without this lock.
	LOCK TABLE idem.operation IN SHARE ROW EXCLUSIVE MODE;
	SELECT o.* INTO old FROM idem.operation o
		WHERE o.operation = idem_define.operation AND (idem_define.version IS NULL OR o.version = idem_define.version)
		ORDER BY o.version DESC LIMIT 1;

	new.id := coalesce(old.id, 0);
	new.operation := operation;
	new.version := coalesce(version, old.version, 1);
	IF old.id IS NOT NULL AND NOT states_recipe THEN
		new.identity := old.identity;
		new.key_fields := old.key_fields;
		new.unchecked_fields := old.unchecked_fields;
		new.key_prefix := old.key_prefix;
		new.effect := old.effect;
		new.unlinked := old.unlinked;
		new.bind := old.bind;
		new.exclusive := old.exclusive;
	ELSE
		new.identity := coalesce(identity, CASE WHEN key_fields IS NOT NULL THEN 'fields' END);
		IF new.identity IS NULL THEN
			RAISE EXCEPTION 'operation "%" does not say what identifies an intent', operation USING ERRCODE = 'ID002',
				HINT = 'Give key_fields, or say identity => ''arguments'' (all of them) or identity => ''occurrence'' (an id that the caller passes).';
		END IF;
		new.key_fields := key_fields;
		new.unchecked_fields := coalesce(unchecked_fields, '{}');
		new.key_prefix := coalesce(key_prefix, operation);
		new.effect := coalesce(effect, 'local');
		new.unlinked := coalesce(unlinked, false);
		new.bind := coalesce(bind, 'all');
		new.exclusive := nullif(exclusive, '{}');
		IF new.identity NOT IN ('fields', 'arguments', 'occurrence') THEN
			RAISE EXCEPTION 'invalid identity of operation "%"', operation USING ERRCODE = 'ID002',
				HINT = 'Identity is one of fields, arguments and occurrence.';
		END IF;
		IF (new.identity = 'fields') <> (key_fields IS NOT NULL) THEN
			RAISE EXCEPTION 'operation "%" has key fields and another identity', operation USING ERRCODE = 'ID002',
				HINT = 'Key fields go with identity fields and with no other.';
		END IF;
		IF new.effect NOT IN ('local', 'external') THEN
			RAISE EXCEPTION 'invalid effect of operation "%"', operation USING ERRCODE = 'ID002',
				HINT = 'An effect is local (rows in this database) or external (a call to another system).';
		END IF;
		IF new.key_prefix !~ '^[a-z][a-z0-9_.-]*$' OR length(new.key_prefix) > 63 THEN
			RAISE EXCEPTION 'invalid key prefix of operation "%"', operation USING ERRCODE = 'ID002',
				DETAIL = 'A prefix starts with a lower-case letter and holds lower-case letters, digits, "_", "." and "-", up to 63.';
		END IF;
	END IF;
	new.retention := coalesce(retention, old.retention, '30 days');
	new.failure_retention := coalesce(failure_retention, old.failure_retention, '1 day');
	new.lease := coalesce(lease, old.lease, '5 minutes');
	new.retry_after := coalesce(retry_after, old.retry_after, '1 second');
	new.max_response_bytes := coalesce(max_response_bytes, old.max_response_bytes, 1048576);
	-- Whoever takes an external attempt over has to know what was asked for.
	new.arguments := coalesce(arguments, CASE WHEN new.effect = old.effect THEN old.arguments END, CASE new.effect WHEN 'external' THEN 'stored' ELSE 'digests' END);
	new.repeat_after := nullif(coalesce(repeat_after, old.repeat_after), '0');
	new.sending := coalesce(sending, old.sending, 'assumed');
	new.on_lost_lease := coalesce(on_lost_lease, old.on_lost_lease, 'hold');
	new.provider_window := nullif(coalesce(provider_window, old.provider_window), '0');
	new.max_attempts := nullif(coalesce(max_attempts, old.max_attempts), 0);
	new.retryable_statuses := nullif(coalesce(retryable_statuses, old.retryable_statuses), '{}');
	IF new.retention <= '0' OR new.failure_retention <= '0' OR new.retry_after <= '0' OR new.lease < '1 millisecond'
	   OR new.max_response_bytes < 0 THEN
		RAISE EXCEPTION 'invalid setting of operation "%"', operation USING ERRCODE = 'ID002',
			DETAIL = 'Retentions and retry_after are longer than zero, a lease is at least 1 millisecond, max_response_bytes is not negative.';
	END IF;
	IF new.arguments NOT IN ('digests', 'stored') THEN
		RAISE EXCEPTION 'invalid arguments of operation "%"', operation USING ERRCODE = 'ID002',
			HINT = 'Of the arguments either digests are kept, or they are stored.';
	END IF;
	new.conflict_hint := nullif(coalesce(conflict_hint, old.conflict_hint), '');
	IF new.sending NOT IN ('assumed', 'recorded') OR new.on_lost_lease NOT IN ('hold', 'takeover') THEN
		RAISE EXCEPTION 'invalid setting of operation "%"', operation USING ERRCODE = 'ID002',
			DETAIL = 'Sending is assumed or recorded, on_lost_lease is hold or takeover.';
	END IF;
	IF new.effect = 'local' AND (new.sending <> 'assumed' OR new.on_lost_lease <> 'hold' OR new.provider_window IS NOT NULL OR new.max_attempts IS NOT NULL
	                              OR new.exclusive IS NOT NULL) THEN
		RAISE EXCEPTION 'operation "%" has a local effect, which is not sent', operation USING ERRCODE = 'ID002',
			HINT = 'sending, on_lost_lease, provider_window, max_attempts and exclusive go with effect => ''external''.';
	END IF;
	IF new.provider_window < new.lease OR new.max_attempts < 1 THEN
		RAISE EXCEPTION 'invalid setting of operation "%"', operation USING ERRCODE = 'ID002',
			DETAIL = 'A provider_window is at least as long as the lease, since a whole lease has to end inside of it; max_attempts is at least 1.',
			HINT = 'provider_window => ''0'' and max_attempts => 0 turn them off.';
	END IF;
	IF new.repeat_after < '0' OR new.repeat_after >= new.retention THEN
		RAISE EXCEPTION 'invalid repeat_after of operation "%"', operation USING ERRCODE = 'ID002',
			DETAIL = 'It is longer than zero and shorter than the retention, after which every intent is a new one.',
			HINT = 'repeat_after => ''0'' turns it off.';
	END IF;
	IF new.repeat_after > '0' AND new.identity = 'occurrence' THEN
		RAISE EXCEPTION 'operation "%" is identified by an occurrence and takes no repeat_after', operation USING ERRCODE = 'ID002',
			HINT = 'A repeat that is meant is another occurrence.';
	END IF;
	PERFORM idem.check_policy(new.operation, new.version, new.identity, new.key_fields, new.unchecked_fields, new.bind, new.exclusive);

	IF old.id IS NULL THEN
		IF EXISTS (SELECT FROM idem.operation o WHERE o.operation = new.operation AND o.version > new.version) THEN
			RAISE EXCEPTION 'version % of operation "%" is below the highest one', new.version, operation
				USING ERRCODE = 'ID002',
				      DETAIL = 'Keys of the higher version could not be found from it.',
				      HINT = 'A new version is higher than all that there are.';
		END IF;
		-- Not by the trigger: a restore inserts versions in any order.
		PERFORM idem.check_link(l, new) FROM idem.operation l WHERE idem.are_linked(l, new);
		SELECT coalesce(max(o.id), 0) + 1 INTO next_id FROM idem.operation o;
		PERFORM idem.warn_about_fields(operation, new.key_fields, new.unchecked_fields);
		INSERT INTO idem.operation (id, operation, version, identity, key_fields, unchecked_fields, key_prefix, effect,
			retention, failure_retention, lease, retry_after, max_response_bytes, unlinked, bind, arguments, repeat_after,
			sending, on_lost_lease, provider_window, max_attempts, retryable_statuses, conflict_hint, exclusive)
			VALUES (next_id, new.operation, new.version, new.identity, new.key_fields, new.unchecked_fields,
			new.key_prefix, new.effect, new.retention, new.failure_retention, new.lease, new.retry_after,
			new.max_response_bytes, new.unlinked, new.bind, new.arguments, new.repeat_after,
			new.sending, new.on_lost_lease, new.provider_window, new.max_attempts, new.retryable_statuses, new.conflict_hint, new.exclusive);
		RETURN 'created';
	END IF;
	new.defined_at := old.defined_at;
	new.retired := old.retired;
	IF new IS NOT DISTINCT FROM old THEN
		RETURN 'unchanged';
	END IF;
	PERFORM idem.warn_about_fields(operation, new.key_fields, new.unchecked_fields);
	UPDATE idem.operation o SET
		identity = new.identity, key_fields = new.key_fields, unchecked_fields = new.unchecked_fields,
		key_prefix = new.key_prefix, effect = new.effect, unlinked = new.unlinked, retention = new.retention,
		failure_retention = new.failure_retention, lease = new.lease, retry_after = new.retry_after,
		max_response_bytes = new.max_response_bytes, bind = new.bind, arguments = new.arguments, repeat_after = new.repeat_after,
		sending = new.sending, on_lost_lease = new.on_lost_lease, provider_window = new.provider_window,
		max_attempts = new.max_attempts, retryable_statuses = new.retryable_statuses, conflict_hint = new.conflict_hint, exclusive = new.exclusive
		WHERE o.id = old.id;
	RETURN 'changed';
END $$;
COMMENT ON FUNCTION idem_define(text, integer, text, jsonb, text[], text, text, interval, interval, interval, interval, integer, boolean, text, text, interval, text, text, interval, integer, integer[], text, text[]) IS
	'defines an operation or changes its settings: created, changed or unchanged';

CREATE FUNCTION idem_drop_operation(operation text, version integer DEFAULT NULL) RETURNS integer
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	dropped integer;
BEGIN
	LOCK TABLE idem.operation IN SHARE ROW EXCLUSIVE MODE;
	IF version IS NOT NULL AND EXISTS (SELECT FROM idem.operation o WHERE o.operation = idem_drop_operation.operation AND o.unlinked
		AND o.version = idem_drop_operation.version
		AND EXISTS (SELECT FROM idem.operation l WHERE l.operation = o.operation AND l.version < o.version)
		AND EXISTS (SELECT FROM idem.operation h WHERE h.operation = o.operation AND h.version > o.version)) THEN
		RAISE EXCEPTION 'version % of operation "%" keeps higher versions apart from lower ones', version, operation
			USING ERRCODE = 'ID002', HINT = 'Drop the lower versions first, or retire this one.';
	END IF;
	DELETE FROM idem.operation o
		WHERE o.operation = idem_drop_operation.operation AND (idem_drop_operation.version IS NULL OR o.version = idem_drop_operation.version);
	GET DIAGNOSTICS dropped = ROW_COUNT;
	IF dropped = 0 THEN
		RAISE EXCEPTION 'operation "%" is not defined', operation USING ERRCODE = 'ID001',
			HINT = 'The view idem_operations lists what is defined.';
	END IF;
	RETURN dropped;
END $$;
COMMENT ON FUNCTION idem_drop_operation(text, integer) IS
	'drops a version of an operation, or all of them; refuses while keys exist. Returns how many';

CREATE FUNCTION idem_retire_version(operation text, version integer) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	found_id smallint;
BEGIN
	LOCK TABLE idem.operation IN SHARE ROW EXCLUSIVE MODE;
	SELECT o.id INTO found_id FROM idem.operation o
		WHERE o.operation = idem_retire_version.operation AND o.version = idem_retire_version.version;
	IF found_id IS NULL THEN
		RAISE EXCEPTION 'version % of operation "%" is not defined', version, operation USING ERRCODE = 'ID001',
			HINT = 'The view idem_operations lists what is defined.';
	END IF;
	IF NOT EXISTS (SELECT FROM idem.operation o WHERE o.operation = idem_retire_version.operation
	               AND o.version > idem_retire_version.version AND NOT o.retired) THEN
		RAISE EXCEPTION 'version % of operation "%" is the current one', version, operation USING ERRCODE = 'ID002',
			HINT = 'Define a higher version first.';
	END IF;
	UPDATE idem.operation o SET retired = true WHERE o.id = found_id;
END $$;
COMMENT ON FUNCTION idem_retire_version(text, integer) IS
	'ends a version that has no keys and a higher one: no claims and no look-ups under it, so that it costs nothing';

CREATE VIEW idem_operations AS
	SELECT o.operation, o.version,
	       o.version = coalesce(max(o.version) FILTER (WHERE NOT o.retired) OVER (PARTITION BY o.operation),
	                            min(o.version) OVER (PARTITION BY o.operation)) AS current,
	       o.identity, o.key_fields, o.unchecked_fields, o.key_prefix, o.effect, o.retention, o.failure_retention,
	       o.lease, o.retry_after, o.max_response_bytes, o.bind, o.arguments, o.repeat_after,
	       o.sending, o.on_lost_lease, o.provider_window, o.max_attempts, o.retryable_statuses, o.conflict_hint, o.exclusive, o.unlinked, o.retired, o.defined_at
	FROM idem.operation o;
COMMENT ON VIEW idem_operations IS 'the operations that are defined; current is the version that a claim uses when it names none';

------------------------------------------------------------------------------------------------
-- Keys
------------------------------------------------------------------------------------------------

CREATE FUNCTION idem_key(tenant text, operation text, arguments jsonb, occurrence text DEFAULT NULL,
                         version integer DEFAULT NULL) RETURNS text
	LANGUAGE C STABLE PARALLEL RESTRICTED COST 10 AS 'MODULE_PATHNAME', 'pg_idem_key';
COMMENT ON FUNCTION idem_key(text, text, jsonb, text, integer) IS
	'the key of a request: prefix, "_" and 32 hex digits (docs/key-format.md)';

CREATE FUNCTION idem_intent(tenant text, operation text, arguments jsonb, occurrence text DEFAULT NULL,
                            version integer DEFAULT NULL) RETURNS jsonb
	LANGUAGE C STABLE PARALLEL RESTRICTED COST 10 AS 'MODULE_PATHNAME', 'pg_idem_intent';
COMMENT ON FUNCTION idem_intent(text, text, jsonb, text, integer) IS
	'the document that the key is a digest of: the normalised key fields, or the occurrence, and the tenant';

CREATE FUNCTION idem_check(tenant text, operation text, arguments jsonb, occurrence text DEFAULT NULL,
                           version integer DEFAULT NULL) RETURNS text
	LANGUAGE C STABLE PARALLEL RESTRICTED COST 10 AS 'MODULE_PATHNAME', 'pg_idem_check';
COMMENT ON FUNCTION idem_check(text, text, jsonb, text, integer) IS
	'why a claim of this request would be refused as bad input; NULL if it would not';

------------------------------------------------------------------------------------------------
-- Review of a policy
------------------------------------------------------------------------------------------------

CREATE FUNCTION idem_explain_key(tenant text, operation text, arguments jsonb, occurrence text DEFAULT NULL,
                                 version integer DEFAULT NULL)
	RETURNS TABLE (path text, role text, type text, normalised text, note text)
	LANGUAGE C STABLE PARALLEL RESTRICTED COST 100 ROWS 20 AS 'MODULE_PATHNAME', 'pg_idem_explain_key';
COMMENT ON FUNCTION idem_explain_key(text, text, jsonb, text, integer) IS
	'one row a field: whether it is in the key, bound or unchecked, and what it is normalised to; then the preimage and the key. A bad field is noted in its row';

------------------------------------------------------------------------------------------------
-- Claims
------------------------------------------------------------------------------------------------

CREATE TYPE idem.claim AS (
	outcome          text,
	action           text,
	key              text,
	attempt          integer,
	fence            bigint,
	effect_ref       text,
	response         jsonb,
	response_omitted boolean,
	retryable        boolean,
	retry_after      interval,
	differing_fields text[],
	claimed_at       timestamptz,
	completed_at     timestamptz,
	message          text,
	arguments        jsonb
);
COMMENT ON TYPE idem.claim IS 'what a claim answers: exactly one row, whatever happened';
COMMENT ON COLUMN idem.claim.outcome IS 'claimed, replayed, failed, in_progress, conflict or unresolved; receipt_expired: idem_lookup of an earlier generation';
COMMENT ON COLUMN idem.claim.action IS 'what to do: do, answer, wait or stop';
COMMENT ON COLUMN idem.claim.key IS 'the key, as it was first issued';
COMMENT ON COLUMN idem.claim.attempt IS 'number of the attempt that the caller owns; NULL when it owns none';
COMMENT ON COLUMN idem.claim.fence IS 'secret of the attempt that the caller owns, needed to finish it in another transaction';
COMMENT ON COLUMN idem.claim.effect_ref IS 'id of the effect that was recorded';
COMMENT ON COLUMN idem.claim.response IS 'the stored receipt or error; never the one of a conflicting request';
COMMENT ON COLUMN idem.claim.response_omitted IS 'the receipt was too large to be stored';
COMMENT ON COLUMN idem.claim.retryable IS 'whether the same call can answer otherwise later';
COMMENT ON COLUMN idem.claim.retry_after IS 'how long to wait before that; NULL when not retryable';
COMMENT ON COLUMN idem.claim.differing_fields IS
	'conflict: the fields that differ from the request of the key; NULL: unknown. A NULL in the list: fields that this request lacks, whose names were not kept';
COMMENT ON COLUMN idem.claim.claimed_at IS 'when the key was claimed';
COMMENT ON COLUMN idem.claim.completed_at IS 'when it was finished';
COMMENT ON COLUMN idem.claim.message IS 'the same in words, for whoever reads nothing else';
COMMENT ON COLUMN idem.claim.arguments IS 'idem_lookup: what was claimed, if the operation has it stored and the caller may SELECT idem.key.arguments';

CREATE FUNCTION idem_claim(tenant text, operation text, arguments jsonb, occurrence text DEFAULT NULL,
                           version integer DEFAULT NULL, wait interval DEFAULT '0', lease interval DEFAULT NULL)
	RETURNS idem.claim
	LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100 AS 'MODULE_PATHNAME', 'pg_idem_claim';
COMMENT ON FUNCTION idem_claim(text, text, jsonb, text, integer, interval, interval) IS
	'claims an intent: do the effect when action is "do", and no other time';

CREATE FUNCTION idem_claim_many(tenant text, operation text, arguments jsonb[], occurrences text[] DEFAULT NULL,
                                version integer DEFAULT NULL, wait interval DEFAULT '0', lease interval DEFAULT NULL,
                                on_error text DEFAULT 'raise')
	RETURNS TABLE (line integer, outcome text, action text, key text, attempt integer, fence bigint, effect_ref text,
	               response jsonb, response_omitted boolean, retryable boolean, retry_after interval,
	               differing_fields text[], claimed_at timestamptz, completed_at timestamptz, message text,
	               sqlstate text)
	LANGUAGE C VOLATILE PARALLEL UNSAFE COST 10000 ROWS 1000 AS 'MODULE_PATHNAME', 'pg_idem_claim_many';
COMMENT ON FUNCTION idem_claim_many(text, text, jsonb[], text[], integer, interval, interval, text) IS
	'claims many intents, in order of their keys, and answers in order of the input: a row for each line, as idem_claim gives it. With on_error => report a bad line is refused in its row, with its SQLSTATE';

CREATE FUNCTION idem_record(tenant text, operation text, arguments jsonb, effect_ref text DEFAULT NULL,
                            response jsonb DEFAULT NULL, occurrence text DEFAULT NULL, version integer DEFAULT NULL,
                            wait interval DEFAULT '0')
	RETURNS idem.claim
	LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100 AS 'MODULE_PATHNAME', 'pg_idem_record';
COMMENT ON FUNCTION idem_record(text, text, jsonb, text, jsonb, text, integer, interval) IS
	'claims and completes in one call, for an effect of the same transaction: keep the effect when action is "do", roll it back otherwise';

CREATE FUNCTION idem_once(tenant text, operation text, arguments jsonb, effect regprocedure,
                          occurrence text DEFAULT NULL, version integer DEFAULT NULL, wait interval DEFAULT '0',
                          ref_field text DEFAULT NULL, on_error text DEFAULT 'raise')
	RETURNS idem.claim
	LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000 AS 'MODULE_PATHNAME', 'pg_idem_once';
COMMENT ON FUNCTION idem_once(text, text, jsonb, regprocedure, text, integer, interval, text, text) IS
	'claims, runs effect(arguments) as the caller if it is the first, and records what it returns';

CREATE FUNCTION idem_complete(tenant text, key text, effect_ref text DEFAULT NULL, response jsonb DEFAULT NULL,
                              fence bigint DEFAULT NULL) RETURNS text
	LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100 AS 'MODULE_PATHNAME', 'pg_idem_complete';
COMMENT ON FUNCTION idem_complete(text, text, text, jsonb, bigint) IS
	'records the effect of a claim: completed, or already when the same was recorded before';

CREATE FUNCTION idem_fail(tenant text, key text, error jsonb DEFAULT NULL, fence bigint DEFAULT NULL) RETURNS text
	LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100 AS 'MODULE_PATHNAME', 'pg_idem_fail';
COMMENT ON FUNCTION idem_fail(text, text, jsonb, bigint) IS
	'records that a claim failed for good: repeats get the stored error for failure_retention';

CREATE FUNCTION idem_release(tenant text, key text, fence bigint DEFAULT NULL, retry_after interval DEFAULT NULL,
                             verified boolean DEFAULT false) RETURNS text
	LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100 AS 'MODULE_PATHNAME', 'pg_idem_release';
COMMENT ON FUNCTION idem_release(text, text, bigint, interval, boolean) IS
	'gives a claim back whose effect is known not to have happened: the next claim of the same request owns it, after retry_after if that is given. After a takeover that has to be known of the attempts before as well: unless it is verified, the key is unknown again';

CREATE FUNCTION idem_unknown(tenant text, key text, fence bigint DEFAULT NULL, retry_after interval DEFAULT NULL) RETURNS text
	LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100 AS 'MODULE_PATHNAME', 'pg_idem_unknown';
COMMENT ON FUNCTION idem_unknown(text, text, bigint, interval) IS
	'ends the lease of an external claim whose outcome is unknown: the policy says whether the next claim takes it over, not before retry_after, or a person decides';

CREATE FUNCTION idem_mark_sending(tenant text, key text, fence bigint) RETURNS text
	LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100 AS 'MODULE_PATHNAME', 'pg_idem_mark_sending';
COMMENT ON FUNCTION idem_mark_sending(text, text, bigint) IS
	'records, before the call goes out, that an attempt of an external effect is sent: sending, or already. Commit, then call';

CREATE FUNCTION idem_renew(tenant text, key text, fence bigint, lease interval DEFAULT NULL) RETURNS timestamptz
	LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100 AS 'MODULE_PATHNAME', 'pg_idem_renew';
COMMENT ON FUNCTION idem_renew(text, text, bigint, interval) IS
	'a heartbeat: the lease of the attempt is counted from now; returns its end';

CREATE FUNCTION idem.require_fence(tenant text, key text, fence bigint) RETURNS void
	LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'pg_idem_require_fence';
COMMENT ON FUNCTION idem.require_fence(text, text, bigint) IS 'raises an error unless the fence is the one of the key''s last attempt; locks the key';

-- The generation that a key's text ends with.
CREATE FUNCTION idem.generation_of(key text) RETURNS integer
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
	SELECT coalesce(substring(key from '_[0-9a-f]{32}-([0-9]+)$')::integer, 1)
$$;
COMMENT ON FUNCTION idem.generation_of(text) IS 'the generation of a key';

CREATE FUNCTION idem.key_text(key uuid, generation integer) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
	SELECT o.key_prefix || '_' || replace(key_text.key::text, '-', '') || CASE WHEN key_text.generation > 1 THEN '-' || key_text.generation ELSE '' END
		FROM idem.key k JOIN idem.operation o ON o.id = k.policy WHERE k.key = key_text.key
$$;
COMMENT ON FUNCTION idem.key_text(uuid, integer) IS 'a key that is in the ledger, as callers have it; NULL when it is gone';

CREATE FUNCTION idem_bind(tenant text, key text, provider text, provider_ref text, fence bigint) RETURNS text
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	own uuid;
	own_generation integer;
	bound idem.provider_ref;
BEGIN
	IF provider IS NULL OR provider_ref IS NULL THEN
		RAISE EXCEPTION '% is NULL', CASE WHEN provider IS NULL THEN 'provider' ELSE 'provider_ref' END USING ERRCODE = '22004';
	END IF;
	IF provider = '' OR provider_ref = '' THEN
		RAISE EXCEPTION '% is empty', CASE WHEN provider = '' THEN 'provider' ELSE 'provider_ref' END USING ERRCODE = '22023';
	END IF;
	PERFORM idem.require_fence(tenant, key, fence);
	own := substring(key from '_([0-9a-f]{32})(-[0-9]+)?$')::uuid;
	own_generation := idem.generation_of(key);
	LOOP
		INSERT INTO idem.provider_ref (tenant, provider, provider_ref, key, generation)
			VALUES (idem_bind.tenant, idem_bind.provider, idem_bind.provider_ref, own, own_generation) ON CONFLICT DO NOTHING;
		IF FOUND THEN
			RETURN 'bound';
		END IF;
		SELECT r.* INTO bound FROM idem.provider_ref r
			WHERE r.tenant = idem_bind.tenant AND r.provider = idem_bind.provider AND r.provider_ref = idem_bind.provider_ref;
		EXIT WHEN FOUND; -- else it was deleted in between
	END LOOP;
	IF bound.key = own AND bound.generation = own_generation THEN
		RETURN 'already';
	END IF;
	RAISE EXCEPTION 'the reference of provider "%" is bound to key "%"', provider, coalesce(idem.key_text(bound.key, bound.generation), bound.key::text) USING ERRCODE = 'ID02D',
		DETAIL = 'Two intents cannot have the same effect at the provider.',
		HINT = 'Look both up: either the provider has taken two requests for one, or the reference is another one''s.';
END $$;
COMMENT ON FUNCTION idem_bind(text, text, text, text, bigint) IS
	'writes the id that a provider has given to the effect onto its key: bound, or already. An id belongs to one key';

CREATE FUNCTION idem_find(tenant text, provider text, provider_ref text, wait interval DEFAULT '0') RETURNS text
	LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	found_key text;
	give_up timestamptz := clock_timestamp() + wait;
BEGIN
	LOOP
		SELECT idem.key_text(r.key, r.generation) INTO found_key FROM idem.provider_ref r
			WHERE r.tenant = idem_find.tenant AND r.provider = idem_find.provider AND r.provider_ref = idem_find.provider_ref;
		IF found_key IS NOT NULL OR clock_timestamp() >= give_up IS NOT false THEN
			RETURN found_key;
		END IF;
		PERFORM pg_sleep(0.02);
	END LOOP;
END $$;
COMMENT ON FUNCTION idem_find(text, text, text, interval) IS
	'the key that a provider''s id was bound to; NULL when none is. A webhook can come before the binding is committed: wait says how long to look again';

CREATE FUNCTION idem_duplicates(tenant text, key text) RETURNS bigint
	LANGUAGE C VOLATILE PARALLEL RESTRICTED COST 10 AS 'MODULE_PATHNAME', 'pg_idem_duplicates';
COMMENT ON FUNCTION idem_duplicates(text, text) IS
	'how often a key was claimed by callers who did not come to own it, since the server''s start: for budgets. NULL when nothing is known of the key, or when pg_idem is not in shared_preload_libraries';

CREATE FUNCTION idem_take(operation text, max_keys integer DEFAULT 1, lease interval DEFAULT NULL, tenant text DEFAULT NULL)
	RETURNS TABLE (key_tenant text, key text, outcome text, action text, attempt integer, fence bigint, state text,
	               arguments jsonb, sent_at timestamptz, lease_end timestamptz)
	LANGUAGE C VOLATILE PARALLEL UNSAFE COST 10000 ROWS 10 AS 'MODULE_PATHNAME', 'pg_idem_take';
COMMENT ON FUNCTION idem_take(text, integer, interval, text) IS
	'hands out keys of external effects whose attempt was lost or released, each to one worker only: claimed, do it; takeover, look first. state is what the key was left in. Commit, then act';

CREATE FUNCTION idem_report_late(tenant text, key text, fence bigint, effect_ref text) RETURNS void
	LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100 AS 'MODULE_PATHNAME', 'pg_idem_report_late';
COMMENT ON FUNCTION idem_report_late(text, text, bigint, text) IS
	'what an attempt that was fenced off has to say of its effect: kept for whoever looks into it, and changes nothing';

CREATE FUNCTION idem_resolve(tenant text, key text, decision text, effect_ref text DEFAULT NULL,
                             response jsonb DEFAULT NULL, note text DEFAULT NULL, rekey boolean DEFAULT false) RETURNS text
	LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100 AS 'MODULE_PATHNAME', 'pg_idem_resolve';
COMMENT ON FUNCTION idem_resolve(text, text, text, text, jsonb, text, boolean) IS
	'a person''s decision on a key that is unresolved, exhausted or failed: completed, retry (with rekey under the next key) or abandoned';

CREATE FUNCTION idem_retryable(status integer, operation text DEFAULT NULL) RETURNS boolean
	LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	statuses integer[];
BEGIN
	IF status IS NULL THEN
		RETURN NULL;
	END IF;
	IF status NOT BETWEEN 100 AND 599 THEN
		RAISE EXCEPTION 'status is no HTTP status' USING ERRCODE = '22023',
			HINT = 'A call without an answer has none: pass NULL.';
	END IF;
	IF operation IS NOT NULL THEN
		SELECT o.retryable_statuses INTO statuses FROM idem.operation o
			WHERE o.operation = idem_retryable.operation ORDER BY o.retired, o.version DESC LIMIT 1;
		IF NOT FOUND THEN
			RAISE EXCEPTION 'operation "%" is not defined', operation USING ERRCODE = 'ID001',
				HINT = 'The view idem_operations lists what is defined.';
		END IF;
	END IF;
	RETURN CASE WHEN statuses IS NOT NULL THEN status = ANY (statuses)
	            ELSE status IN (408, 409, 425, 429) OR status >= 500 END;
END $$;
COMMENT ON FUNCTION idem_retryable(integer, text) IS
	'whether a call that was answered with this HTTP status may be tried again: 408, 409, 425, 429 and 5xx, or what the operation says. NULL for none: the outcome is unknown';

CREATE FUNCTION idem_lookup(tenant text, key text) RETURNS idem.claim
	LANGUAGE C VOLATILE PARALLEL RESTRICTED COST 10 AS 'MODULE_PATHNAME', 'pg_idem_lookup_key';
COMMENT ON FUNCTION idem_lookup(text, text) IS
	'what is known of a key, without claiming it; NULL when nothing is. Works read-only and on a standby';

CREATE FUNCTION idem_lookup(tenant text, operation text, arguments jsonb, occurrence text DEFAULT NULL,
                            version integer DEFAULT NULL) RETURNS idem.claim
	LANGUAGE C VOLATILE PARALLEL RESTRICTED COST 10 AS 'MODULE_PATHNAME', 'pg_idem_lookup';
COMMENT ON FUNCTION idem_lookup(text, text, jsonb, text, integer) IS
	'what a claim of this request would meet of what is written, without claiming it; NULL when nothing. Works read-only and on a standby';

------------------------------------------------------------------------------------------------
-- Guards of effects, and answers for clients
------------------------------------------------------------------------------------------------

CREATE FUNCTION idem_guard() RETURNS trigger
	LANGUAGE C VOLATILE AS 'MODULE_PATHNAME', 'pg_idem_guard';
COMMENT ON FUNCTION idem_guard() IS
	'trigger for a table of effects: idem_guard(operation, key column [, tenant column]) refuses a row without the key of a claim of the operation that this transaction holds';

CREATE FUNCTION idem_problem(claim idem.claim, operation text DEFAULT NULL, base text DEFAULT 'urn:pg_idem:problem:') RETURNS jsonb
	LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	hint text;
	known record;
BEGIN
	IF claim.outcome IS NULL OR claim.action IN ('do', 'verify') THEN
		RETURN NULL;
	END IF;
	SELECT * INTO known FROM (VALUES
		('claimed', 200, 'done', 'Done now', 'This call did the effect, now.'),
		('replayed', 200, 'idempotency_replayed', 'Done before: nothing was done now',
			'This is the stored receipt of an earlier call. No new effect took place.'),
		('failed', 422, 'idempotency_failed', 'Failed before: nothing was done now',
			'This is the stored error of an earlier call. It was not tried again.'),
		('in_progress', 409, 'idempotency_in_progress', 'A request with this key is in progress',
			'Another attempt of the same request is under way, or its time to wait is not over. Nothing was done now.'),
		('conflict', 422, 'idempotency_key_reused', 'This key was used with a different request',
			'The key belongs to another request. Nothing was done now, and the same request will not be accepted later.'),
		('unresolved', 409, 'idempotency_unresolved', 'The outcome of an earlier attempt is unknown',
			'An earlier attempt was sent, and nobody knows whether it took effect. Nothing was done now; a person decides.'),
		('exhausted', 409, 'idempotency_exhausted', 'The attempts of this request are used up',
			'Nothing was done now; a person decides.'),
		('receipt_expired', 410, 'idempotency_receipt_expired', 'Done long ago: the receipt is gone',
			'Nothing was done now; a person decides.')) t (outcome, status, code, title, detail)
		WHERE t.outcome = claim.outcome;
	IF claim.outcome = 'conflict' AND operation IS NOT NULL THEN
		SELECT o.conflict_hint INTO hint FROM idem.operation o
			WHERE o.operation = idem_problem.operation ORDER BY o.retired, o.version DESC LIMIT 1;
	END IF;
	RETURN jsonb_strip_nulls(jsonb_build_object(
			'type', base || coalesce(known.code, 'idempotency_stop'), 'title', coalesce(known.title, 'Nothing was done now'),
			'status', coalesce(known.status, 409), 'detail', coalesce(known.detail, claim.message), 'code', coalesce(known.code, 'idempotency_stop'),
			'outcome', claim.outcome, 'key', claim.key, 'retryable', coalesce(claim.retryable, false),
			'retry_after', ceil(extract(epoch FROM claim.retry_after))::integer, 'differing_fields', to_jsonb(claim.differing_fields),
			'effect_ref', claim.effect_ref, 'completed_at', claim.completed_at, 'conflict_hint', hint,
			'replayed', CASE WHEN claim.outcome IN ('replayed', 'failed') THEN true END))
		|| CASE WHEN claim.outcome IN ('replayed', 'failed', 'claimed') AND claim.response IS NOT NULL
		        THEN jsonb_build_object('response', claim.response) ELSE '{}' END;
END $$;
COMMENT ON FUNCTION idem_problem(idem.claim, text, text) IS
	'an answer for a client, as a problem document (RFC 9457): status, code, whether and when to try again. A replay says that nothing was done now. NULL for a caller that has the effect still to do';

CREATE FUNCTION idem_problem(sqlstate text, message text DEFAULT NULL, base text DEFAULT 'urn:pg_idem:problem:') RETURNS jsonb
	LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
	SELECT jsonb_strip_nulls(jsonb_build_object('type', base || t.code, 'title', t.title, 'status', t.status, 'detail', message, 'code', t.code,
			'sqlstate', sqlstate, 'retryable', t.retryable))
		FROM (VALUES
			(1, '^ID011$', 400, 'idempotency_key_missing', 'The request lacks what identifies it', false),
			(2, '^ID01[23]$', 400, 'idempotency_key_invalid', 'What identifies the request is not valid', false),
			(3, '^(22|ID001)', 400, 'idempotency_request_invalid', 'The request is not valid', false),
			(4, '^40', 409, 'idempotency_in_progress', 'A concurrent request was faster', true),
			(5, '^ID02', 409, 'idempotency_misuse', 'The key was not handled as it has to be', false),
			(6, '', 500, 'idempotency_unavailable', 'The request could not be checked', true)) t (n, pattern, status, code, title, retryable)
		WHERE sqlstate ~ t.pattern ORDER BY t.n LIMIT 1
$$;
COMMENT ON FUNCTION idem_problem(text, text, text) IS
	'the same for an error: 400 for a request without, or with a bad key, 409 for one that can be tried again';

------------------------------------------------------------------------------------------------
-- Occurrences, and what to do after a failure
------------------------------------------------------------------------------------------------

CREATE FUNCTION idem_mint() RETURNS text
	LANGUAGE C VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'pg_idem_mint';
COMMENT ON FUNCTION idem_mint() IS
	'a new id for an occurrence that is being planned: a UUIDv7 (RFC 9562), rising within a session. Store it with the plan; never mint one for a retry';

CREATE TYPE idem.advice AS (
	decision  text,
	next_step text,
	reason    text
);
COMMENT ON TYPE idem.advice IS
	'what a trigger means for the key: same_key, look_up_first, conflict or new_occurrence; what to do next, and why';

CREATE FUNCTION idem_classify(trigger text, effect text DEFAULT 'external') RETURNS idem.advice
	LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	spelt text := trim(both '_' from regexp_replace(lower(trigger), '[^a-z0-9]+', '_', 'g'));
	known text;
	answer idem.advice;
BEGIN
	IF trigger IS NULL OR effect IS NULL THEN
		RAISE EXCEPTION '% is NULL', CASE WHEN trigger IS NULL THEN 'trigger' ELSE 'effect' END USING ERRCODE = '22004';
	END IF;
	IF effect NOT IN ('local', 'external') THEN
		RAISE EXCEPTION 'unknown effect' USING ERRCODE = '22023', HINT = 'An effect is local or external.';
	END IF;
	known := CASE
		WHEN spelt IN ('timeout', '408', '504') THEN 'timeout'
		WHEN spelt ~ '^5([0-9][0-9]|xx)$' THEN '5xx'
		WHEN spelt IN ('model_reemits_call', 'model_re_emits_the_call') THEN 'model_reemits_call'
		WHEN spelt IN ('model_changes_argument', 'model_changes_an_argument') THEN 'model_changes_argument'
		WHEN spelt IN ('second_purchase_approved', 'separately_approved_second_purchase') THEN 'second_purchase_approved'
		ELSE spelt END;
	SELECT CASE effect WHEN 'local' THEN t.local ELSE t.external END, t.next_step, t.reason INTO answer FROM (VALUES
		('timeout', 'same_key', 'look_up_first',
			'Claim again. If the answer is in_progress or unresolved, ask the provider by the key that was sent, then finish or idem_resolve.',
			'No answer in time says nothing of what was done.'),
		('connection_lost', 'same_key', 'look_up_first',
			'Claim again. If the answer is in_progress or unresolved, ask the provider by the key that was sent, then finish or idem_resolve.',
			'The request may have arrived, and only its answer been lost; so may a COMMIT.'),
		('connection_refused', 'same_key', 'same_key',
			'idem_release an external claim, then claim again.',
			'Nothing was sent, so nothing was done.'),
		('5xx', 'same_key', 'look_up_first',
			'idem_unknown an external claim. Ask the provider by the key that was sent, then idem_resolve.',
			'A server that fails may have done the work before.'),
		('429', 'same_key', 'same_key',
			'idem_release an external claim. Wait as long as the provider says, then claim again.',
			'The provider has refused to begin.'),
		('process_restart', 'same_key', 'look_up_first',
			'Claim again. A local effect is replayed or begins anew; if an external one is unresolved, ask the provider by the key, then idem_resolve.',
			'Nobody remembers whether the call was sent; the ledger knows that it may have been.'),
		('model_reemits_call', 'same_key', 'same_key',
			'Claim with the arguments as they come and the occurrence of the step: the answer is the receipt of the first time.',
			'The same intent, said twice. The id of a tool call is new each time and is no occurrence.'),
		('model_changes_argument', 'conflict', 'conflict',
			'Claim with the occurrence of the step. On conflict stop, and show a person both requests.',
			'One step, two requests: only a person can say which of them was meant. A new key would do both.'),
		('approval_resumed', 'same_key', 'same_key',
			'Claim with the arguments that were approved, and the occurrence that the approval was given for.',
			'The approval names what was planned. What the model says after it is not what was approved.'),
		('user_asks_again', 'look_up_first', 'look_up_first',
			'idem_lookup. Show what was done, and ask whether once more is meant; if so, it is second_purchase_approved.',
			'Impatience and a second wish sound alike.'),
		('second_purchase_approved', 'new_occurrence', 'new_occurrence',
			'idem_mint an occurrence, store it with the approval, and claim with it.',
			'A second effect is meant, and somebody answers for it.')
		) t (trigger, local, external, next_step, reason)
		WHERE t.trigger = known;
	IF answer IS NULL THEN
		RAISE EXCEPTION 'unknown trigger' USING ERRCODE = '22023',
			HINT = 'A trigger is one of timeout, connection_lost, connection_refused, 5xx, 429, process_restart, model_reemits_call, model_changes_argument, approval_resumed, user_asks_again and second_purchase_approved.';
	END IF;
	RETURN answer;
END $$;
COMMENT ON FUNCTION idem_classify(text, text) IS
	'retry or new operation: what a failure, a restart, a model or a person asking again means for the key (docs/identity.md)';

------------------------------------------------------------------------------------------------
-- Upkeep
------------------------------------------------------------------------------------------------

CREATE FUNCTION idem_expire(max_rows integer DEFAULT 1000) RETURNS integer
	LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 10000 SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'pg_idem_expire';
COMMENT ON FUNCTION idem_expire(integer) IS
	'deletes up to max_rows finished keys past their life, never an effect row; returns how many';

-- Every operator and function in a view takes the exact types that pg_catalog has, or is qualified:
-- the nearest match could be an object that somebody has put into the schema of the extension.
CREATE VIEW idem_keys AS
	SELECT k.tenant, o.operation, o.version,
	       o.key_prefix || '_' || pg_catalog.replace(k.key::text, '-', '') || coalesce('-' || k.generation::text, '') AS key,
	       CASE k.state WHEN 'p' THEN 'claimed' WHEN 'o' THEN 'sending' WHEN 'u' THEN 'unknown' WHEN 'r' THEN 'released'
	                    WHEN 'c' THEN 'completed' WHEN 'f' THEN 'failed' WHEN 'a' THEN 'abandoned' END AS state,
	       coalesce(k.attempt, 1) AS attempt,
	       coalesce(k.claimed_at, k.completed_at OPERATOR(pg_catalog.-)
	                (k.elapsed::pg_catalog.float8 OPERATOR(pg_catalog.*) interval '1 millisecond')) AS claimed_at,
	       k.completed_at, k.lease_end, k.effect_ref, k.response, coalesce(k.response_omitted, false) AS response_omitted,
	       k.note
	FROM idem.key k LEFT JOIN idem.operation o ON o.id = k.policy;
COMMENT ON VIEW idem_keys IS 'the ledger, readable; claims of open transactions are not in it';

CREATE FUNCTION idem.next_outcome(policy smallint, state "char", attempt integer, attempts_before integer, claimed_at timestamptz,
                                 lease_end timestamptz, sent_at timestamptz, retry_at timestamptz) RETURNS text
	LANGUAGE C VOLATILE PARALLEL RESTRICTED COST 10 AS 'MODULE_PATHNAME', 'pg_idem_next_outcome';
COMMENT ON FUNCTION idem.next_outcome(smallint, "char", integer, integer, timestamptz, timestamptz, timestamptz, timestamptz) IS
	'what a claim of an unfinished key would be answered now';

CREATE VIEW idem_pending AS
	SELECT p.tenant, p.operation, p.version, p.key, p.state, p.attempt, p.max_attempts, p.claimed_at, p.lease_end, p.sent_at, p.retry_at,
	       p.next_outcome,
	       CASE p.next_outcome
	           WHEN 'in_progress' THEN CASE p.state WHEN 'released' THEN 'released, to be tried again later'
	               WHEN 'unknown' THEN 'its outcome is unknown, to be looked up later' WHEN 'claimed' THEN 'an attempt has it and has not sent yet' ELSE 'an attempt is under way, and may have sent' END
	           WHEN 'claimed' THEN CASE p.state WHEN 'released' THEN 'released: known not to have happened' ELSE 'lost before it was sent' END
	           WHEN 'takeover' THEN 'lost after it may have been sent'
	           WHEN 'unresolved' THEN CASE WHEN p.provider_window IS NULL THEN 'lost after it may have been sent, and the policy is not to guess'
	               ELSE 'lost after it may have been sent, and the provider may have forgotten the key' END
	           WHEN 'exhausted' THEN 'its attempts are used up' END AS why,
	       CASE p.next_outcome
	           WHEN 'in_progress' THEN 'nothing before ' || coalesce(CASE WHEN p.state IN ('released', 'unknown') THEN p.retry_at ELSE p.lease_end END::text, '?')
	           WHEN 'claimed' THEN 'the next claim or idem_take does it'
	           WHEN 'takeover' THEN 'the next claim or idem_take looks it up at the provider, or sends it again'
	           ELSE 'a person decides: idem_resolve' END AS next_step,
	       p.arguments IS NOT NULL AS arguments_stored, p.provider_refs, p.late_effect_refs, p.note
	FROM (SELECT k.tenant, o.operation, o.version,
	             o.key_prefix || '_' || pg_catalog.replace(k.key::text, '-', '') || coalesce('-' || k.generation::text, '') AS key,
	             CASE k.state WHEN 'p' THEN 'claimed' WHEN 'o' THEN 'sending' WHEN 'u' THEN 'unknown' WHEN 'r' THEN 'released' END AS state,
	             k.attempt, o.max_attempts, o.provider_window, k.claimed_at, k.lease_end, k.sent_at, k.retry_at, k.arguments, k.note,
	             idem.next_outcome(k.policy, k.state, k.attempt, k.attempts_before, k.claimed_at, k.lease_end, k.sent_at, k.retry_at) AS next_outcome,
	             (SELECT pg_catalog.array_agg(r.provider || ' ' || r.provider_ref ORDER BY r.bound_at) FROM idem.provider_ref r WHERE r.key = k.key) AS provider_refs,
	             (SELECT pg_catalog.array_agg(r.effect_ref ORDER BY r.reported_at) FROM idem.late_report r WHERE r.key = k.key) AS late_effect_refs
	      FROM idem.key k LEFT JOIN idem.operation o ON o.id = k.policy WHERE k.completed_at IS NULL) p;
COMMENT ON VIEW idem_pending IS 'external effects that are not finished: since when, why, and what happens next. next_outcome is what a claim would be answered now';

CREATE VIEW idem_dead_letters AS
	SELECT p.* FROM idem_pending p WHERE p.next_outcome IN ('unresolved', 'exhausted');
COMMENT ON VIEW idem_dead_letters IS 'the keys that a person has to decide on: unresolved or exhausted';

CREATE VIEW idem_late_reports AS
	SELECT k.tenant, o.operation, o.version,
	       o.key_prefix || '_' || pg_catalog.replace(r.key::text, '-', '') || CASE WHEN r.generation > 1 THEN '-' || r.generation::text ELSE '' END AS key,
	       r.reported_at, r.reported_by, r.effect_ref AS late_effect_ref, k.effect_ref, k.completed_at
	FROM idem.late_report r LEFT JOIN idem.key k ON k.key = r.key LEFT JOIN idem.operation o ON o.id = k.policy;
COMMENT ON VIEW idem_late_reports IS
	'effects that attempts have reported after they had lost their key, beside what the key was finished with: an effect that is another one was done twice';

CREATE VIEW idem_decisions AS
	SELECT k.tenant, o.operation, o.version,
	       o.key_prefix || '_' || pg_catalog.replace(d.key::text, '-', '') || CASE WHEN d.generation > 1 THEN '-' || d.generation::text ELSE '' END AS key,
	       d.decided_at, d.decided_by,
	       CASE d.state_before WHEN 'p' THEN 'claimed' WHEN 'o' THEN 'sending' WHEN 'u' THEN 'unknown' WHEN 'r' THEN 'released' WHEN 'f' THEN 'failed' END AS state_before,
	       d.decision, d.effect_ref, d.note
	FROM idem.decision d LEFT JOIN idem.key k ON k.key = d.key LEFT JOIN idem.operation o ON o.id = k.policy;
COMMENT ON VIEW idem_decisions IS 'what people have decided by idem_resolve, with who and when';

CREATE FUNCTION idem_grant(role regrole, operation text DEFAULT NULL, tenant text DEFAULT NULL,
                           read_arguments boolean DEFAULT false) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF operation IS NOT NULL OR tenant IS NOT NULL THEN
		RAISE EXCEPTION 'grants for one operation or tenant are not supported yet' USING ERRCODE = '0A000',
			HINT = 'A grant without them covers every operation and tenant.';
	END IF;
	EXECUTE 'GRANT USAGE ON SCHEMA idem TO ' || role::text;
	EXECUTE 'GRANT EXECUTE ON FUNCTION
		@extschema@.idem_claim(text, text, jsonb, text, integer, interval, interval),
		@extschema@.idem_claim_many(text, text, jsonb[], text[], integer, interval, interval, text),
		@extschema@.idem_record(text, text, jsonb, text, jsonb, text, integer, interval),
		@extschema@.idem_once(text, text, jsonb, regprocedure, text, integer, interval, text, text),
		@extschema@.idem_complete(text, text, text, jsonb, bigint),
		@extschema@.idem_fail(text, text, jsonb, bigint),
		@extschema@.idem_release(text, text, bigint, interval, boolean),
		@extschema@.idem_mark_sending(text, text, bigint),
		@extschema@.idem_renew(text, text, bigint, interval),
		@extschema@.idem_report_late(text, text, bigint, text),
		@extschema@.idem_bind(text, text, text, text, bigint),
		@extschema@.idem_find(text, text, text, interval),
		@extschema@.idem_duplicates(text, text),
		@extschema@.idem_unknown(text, text, bigint, interval),
		@extschema@.idem_lookup(text, text),
		@extschema@.idem_lookup(text, text, jsonb, text, integer)
		TO ' || role::text;
	IF read_arguments THEN
		EXECUTE 'GRANT SELECT (arguments) ON idem.key TO ' || role::text;
		EXECUTE 'GRANT EXECUTE ON FUNCTION @extschema@.idem_take(text, integer, interval, text) TO ' || role::text;
	END IF;
END $$;
COMMENT ON FUNCTION idem_grant(regrole, text, text, boolean) IS
	'lets a role claim, complete, fail, release and look up, and if so said see stored arguments and take lost work; never define, drop, expire, resolve or list';

------------------------------------------------------------------------------------------------
-- Privileges: what changes or reads the ledger is for those to whom it was granted
------------------------------------------------------------------------------------------------

REVOKE ALL ON FUNCTION
	idem.check_policy(text, integer, text, jsonb, text[], text, text[]), idem.has_keys(smallint), idem.has_rows(smallint), idem.wait_for_claims(),
	idem.drops_key_field(idem.operation, idem.operation), idem.check_link(idem.operation, idem.operation),
	idem.are_linked(idem.operation, idem.operation),
	idem.guard_operation(), idem.policy_changed(), idem.warn_about_fields(text, jsonb, text[]),
	idem_define(text, integer, text, jsonb, text[], text, text, interval, interval, interval, interval, integer, boolean, text, text, interval, text, text, interval, integer, integer[], text, text[]),
	idem_retire_version(text, integer),
	idem_drop_operation(text, integer),
	idem_claim(text, text, jsonb, text, integer, interval, interval),
	idem_claim_many(text, text, jsonb[], text[], integer, interval, interval, text),
	idem_record(text, text, jsonb, text, jsonb, text, integer, interval),
	idem_once(text, text, jsonb, regprocedure, text, integer, interval, text, text),
	idem_complete(text, text, text, jsonb, bigint),
	idem_fail(text, text, jsonb, bigint),
	idem_release(text, text, bigint, interval, boolean),
	idem_unknown(text, text, bigint, interval),
	idem_mark_sending(text, text, bigint),
	idem_renew(text, text, bigint, interval),
	idem_report_late(text, text, bigint, text),
	idem_duplicates(text, text),
	idem_take(text, integer, interval, text),
	idem.require_fence(text, text, bigint), idem.generation_of(text), idem.key_text(uuid, integer),
	idem_bind(text, text, text, text, bigint),
	idem_find(text, text, text, interval),
	idem_resolve(text, text, text, text, jsonb, text, boolean),
	idem_lookup(text, text),
	idem_lookup(text, text, jsonb, text, integer),
	idem_expire(integer),
	idem_grant(regrole, text, text, boolean)
	FROM PUBLIC;
