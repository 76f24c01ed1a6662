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
-- bitmap of one byte, which keeps its header at 24 bytes (docs/storage.md).
CREATE TABLE idem.key (
	key              uuid        NOT NULL PRIMARY KEY,
	completed_at     timestamptz,
	elapsed          integer,
	policy           smallint    NOT NULL,
	state            "char"      NOT NULL,
	tenant           text        NOT NULL,
	effect_ref       text,
	fingerprint      uuid,
	response         jsonb,
	response_omitted boolean,
	claimed_at       timestamptz,
	lease_end        timestamptz,
	fence            bigint,
	attempt          integer,
	note             text
);
COMMENT ON TABLE idem.key IS 'the ledger: one row a key that was finished, or claimed for an external effect';
COMMENT ON COLUMN idem.key.key IS 'first 128 bits of the SHA-256 of the key''s preimage';
COMMENT ON COLUMN idem.key.completed_at IS 'when it was finished (completed, failed or abandoned); NULL before that';
COMMENT ON COLUMN idem.key.elapsed IS 'milliseconds from the claim to the finish, at most 2147483647';
COMMENT ON COLUMN idem.key.policy IS 'idem.operation.id of the version that the key was written under';
COMMENT ON COLUMN idem.key.state IS 'o open, u unknown, r released, c completed, f failed, a abandoned';
COMMENT ON COLUMN idem.key.tenant IS 'whose key it is; part of the key';
COMMENT ON COLUMN idem.key.effect_ref IS 'the caller''s id of the effect row or provider object';
COMMENT ON COLUMN idem.key.fingerprint IS
	'first 128 bits of the SHA-256 of the arguments that are bound but not in the key; NULL when there are none';
COMMENT ON COLUMN idem.key.response IS 'the receipt that a repeat gets, or the stored error';
COMMENT ON COLUMN idem.key.response_omitted IS 'true: the response was larger than max_response_bytes and is not here';
COMMENT ON COLUMN idem.key.claimed_at IS 'external effects: when the present attempt claimed the key';
COMMENT ON COLUMN idem.key.lease_end IS 'external effects: until when the present attempt is protected';
COMMENT ON COLUMN idem.key.fence IS 'external effects: the secret of the present attempt';
COMMENT ON COLUMN idem.key.attempt IS 'external effects: number of the present attempt, from 1';
COMMENT ON COLUMN idem.key.note IS 'what the person who resolved the key wrote';

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

------------------------------------------------------------------------------------------------
-- Guards on the policies, raw SQL included
------------------------------------------------------------------------------------------------

CREATE FUNCTION idem.check_policy(operation text, version integer, identity text, key_fields jsonb,
                                  unchecked_fields text[]) RETURNS void
	LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'pg_idem_check_policy';
COMMENT ON FUNCTION idem.check_policy(text, integer, text, jsonb, text[]) IS
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
		RETURN OLD;
	ELSIF TG_OP = 'INSERT' THEN
		PERFORM idem.check_policy(NEW.operation, NEW.version, NEW.identity, NEW.key_fields, NEW.unchecked_fields);
		-- A transaction that claims under the versions it knows must end before there is a further one: its
		-- claims and those under the new version could not see each other.
		IF NEW.version > 1 THEN
			PERFORM idem.wait_for_claims();
		END IF;
		RETURN NEW;
	END IF;
	IF (NEW.id, NEW.operation, NEW.version, NEW.identity, NEW.key_fields, NEW.unchecked_fields, NEW.key_prefix, NEW.effect)
	   IS DISTINCT FROM
	   (OLD.id, OLD.operation, OLD.version, OLD.identity, OLD.key_fields, OLD.unchecked_fields, OLD.key_prefix, OLD.effect)
	THEN
		IF idem.has_keys(OLD.id) THEN
			RAISE EXCEPTION 'the recipe of operation "%" version % is frozen, because it has keys', OLD.operation, OLD.version
				USING ERRCODE = 'ID003',
				      DETAIL = 'Identity, key fields, unchecked fields, prefix and effect decide which request is which intent.',
				      HINT = pg_catalog.format('Define the new recipe as a new version: idem_define(%L, version => %s, ...).',
				                               OLD.operation, OLD.version + 1);
		END IF;
		PERFORM idem.check_policy(NEW.operation, NEW.version, NEW.identity, NEW.key_fields, NEW.unchecked_fields);
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
-- Operations
------------------------------------------------------------------------------------------------

CREATE FUNCTION idem.warn_about_fields(operation text, key_fields jsonb, unchecked_fields text[]) RETURNS void
	LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	path text;
	leaf text;
	looks text;
BEGIN
	FOR path IN SELECT jsonb_object_keys(key_fields) LOOP
		-- the last segment, camelCase as snake_case
		leaf := lower(regexp_replace(regexp_replace(path, '^.*\.', ''), '([a-z0-9])([A-Z])', '\1_\2', 'g'));
		leaf := trim(both '"' from leaf);
		looks := CASE
			WHEN leaf ~ '(^|_)(timestamp|ts|now|time|datetime|at)$' THEN 'a timestamp'
			WHEN leaf ~ '(^|_)(attempts?|retry|retries|retry_count|try|tries|delivery_count)$' THEN 'an attempt counter'
			WHEN leaf ~ '(^|_)(request|trace|span|correlation|call|message|session|run)_?(id|uuid)$'
			  OR leaf ~ '^(nonce|uuid|idempotency_key|jti)$' THEN 'an id of the request'
			WHEN leaf ~ '(^|_)(reason|notes?|memo|description|comments?|message|text|body|summary|explanation|details?|prompt|subject)$'
				THEN 'prose, which a model rewords'
			END;
		IF looks IS NOT NULL THEN
			RAISE WARNING 'key field "%" of operation "%" looks like %', path, operation, looks
				USING HINT = 'A value that changes between attempts makes each attempt a new intent. Leave it out of the key fields: it is bound by the fingerprint, or name it in unchecked_fields.';
		END IF;
	END LOOP;
	FOREACH path IN ARRAY coalesce(unchecked_fields, '{}') LOOP
		leaf := lower(regexp_replace(regexp_replace(path, '^.*\.', ''), '([a-z0-9])([A-Z])', '\1_\2', 'g'));
		leaf := trim(both '"' from leaf);
		IF leaf ~ '(^|_)(amount|currency|recipient|dry_run)$' THEN
			RAISE WARNING 'unchecked field "%" of operation "%" decides what the effect does', path, operation
				USING HINT = 'A repeat that changes an unchecked field is answered as a replay of the first request.';
		END IF;
	END LOOP;
END $$;
COMMENT ON FUNCTION idem.warn_about_fields(text, jsonb, text[]) IS 'warns of key fields that change by themselves and of unchecked fields that matter';

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
	max_response_bytes integer DEFAULT NULL
) RETURNS text
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	old idem.operation;
	new idem.operation;
	states_recipe boolean := coalesce(identity, key_fields::text, unchecked_fields::text, key_prefix, effect) IS NOT NULL;
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
	IF new.retention <= '0' OR new.failure_retention <= '0' OR new.retry_after <= '0' OR new.lease < '1 millisecond'
	   OR new.max_response_bytes < 0 THEN
		RAISE EXCEPTION 'invalid setting of operation "%"', operation USING ERRCODE = 'ID002',
			DETAIL = 'Retentions and retry_after are longer than zero, a lease is at least 1 millisecond, max_response_bytes is not negative.';
	END IF;
	PERFORM idem.check_policy(new.operation, new.version, new.identity, new.key_fields, new.unchecked_fields);

	IF old.id IS NULL THEN
		SELECT coalesce(max(o.id), 0) + 1 INTO next_id FROM idem.operation o;
		PERFORM idem.warn_about_fields(operation, new.key_fields, new.unchecked_fields);
		INSERT INTO idem.operation VALUES (next_id, new.operation, new.version, new.identity, new.key_fields,
			new.unchecked_fields, new.key_prefix, new.effect, new.retention, new.failure_retention, new.lease,
			new.retry_after, new.max_response_bytes);
		RETURN 'created';
	END IF;
	new.defined_at := old.defined_at;
	IF new IS NOT DISTINCT FROM old THEN
		RETURN 'unchanged';
	END IF;
	PERFORM idem.warn_about_fields(operation, new.key_fields, new.unchecked_fields);
	UPDATE idem.operation o SET
		identity = new.identity, key_fields = new.key_fields, unchecked_fields = new.unchecked_fields,
		key_prefix = new.key_prefix, effect = new.effect, retention = new.retention,
		failure_retention = new.failure_retention, lease = new.lease, retry_after = new.retry_after,
		max_response_bytes = new.max_response_bytes
		WHERE o.id = old.id;
	RETURN 'changed';
END $$;
COMMENT ON FUNCTION idem_define(text, integer, text, jsonb, text[], text, text, interval, interval, interval, interval, integer) IS
	'defines an operation or changes its settings: created, changed or unchanged';

CREATE FUNCTION idem_drop_operation(operation text, version integer DEFAULT NULL) RETURNS integer
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	dropped integer;
BEGIN
	LOCK TABLE idem.operation IN SHARE ROW EXCLUSIVE MODE;
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

CREATE VIEW idem_operations AS
	SELECT o.operation, o.version, o.version = max(o.version) OVER (PARTITION BY o.operation) AS current,
	       o.identity, o.key_fields, o.unchecked_fields, o.key_prefix, o.effect, o.retention, o.failure_retention,
	       o.lease, o.retry_after, o.max_response_bytes, o.defined_at
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
	message          text
);
COMMENT ON TYPE idem.claim IS 'what a claim answers: exactly one row, whatever happened';
COMMENT ON COLUMN idem.claim.outcome IS 'claimed, replayed, failed, in_progress, conflict or unresolved';
COMMENT ON COLUMN idem.claim.action IS 'what to do: do, answer, wait or stop';
COMMENT ON COLUMN idem.claim.key IS 'the key, as it was first issued';
COMMENT ON COLUMN idem.claim.attempt IS 'number of the attempt that the caller owns; NULL when it owns none';
COMMENT ON COLUMN idem.claim.fence IS 'secret of the attempt that the caller owns, needed to finish it in another transaction';
COMMENT ON COLUMN idem.claim.effect_ref IS 'id of the effect that was recorded';
COMMENT ON COLUMN idem.claim.response IS 'the stored receipt or error; never the one of a conflicting request';
COMMENT ON COLUMN idem.claim.response_omitted IS 'the receipt was too large to be stored';
COMMENT ON COLUMN idem.claim.retryable IS 'whether the same call can answer otherwise later';
COMMENT ON COLUMN idem.claim.retry_after IS 'how long to wait before that; NULL when not retryable';
COMMENT ON COLUMN idem.claim.differing_fields IS 'what differs from the request of the key; NULL: unknown';
COMMENT ON COLUMN idem.claim.claimed_at IS 'when the key was claimed';
COMMENT ON COLUMN idem.claim.completed_at IS 'when it was finished';
COMMENT ON COLUMN idem.claim.message IS 'the same in words, for whoever reads nothing else';

CREATE FUNCTION idem_claim(tenant text, operation text, arguments jsonb, occurrence text DEFAULT NULL,
                           version integer DEFAULT NULL, wait interval DEFAULT '0', lease interval DEFAULT NULL)
	RETURNS idem.claim
	LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100 AS 'MODULE_PATHNAME', 'pg_idem_claim';
COMMENT ON FUNCTION idem_claim(text, text, jsonb, text, integer, interval, interval) IS
	'claims an intent: do the effect when action is "do", and no other time';

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

CREATE FUNCTION idem_release(tenant text, key text, fence bigint DEFAULT NULL) RETURNS text
	LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100 AS 'MODULE_PATHNAME', 'pg_idem_release';
COMMENT ON FUNCTION idem_release(text, text, bigint) IS
	'gives a claim back whose effect is known not to have happened: the next claim of the same request owns it';

CREATE FUNCTION idem_unknown(tenant text, key text, fence bigint DEFAULT NULL) RETURNS text
	LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100 AS 'MODULE_PATHNAME', 'pg_idem_unknown';
COMMENT ON FUNCTION idem_unknown(text, text, bigint) IS
	'ends the lease of an external claim whose outcome is unknown: repeats answer unresolved';

CREATE FUNCTION idem_resolve(tenant text, key text, decision text, effect_ref text DEFAULT NULL,
                             response jsonb DEFAULT NULL, note text DEFAULT NULL) RETURNS text
	LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100 AS 'MODULE_PATHNAME', 'pg_idem_resolve';
COMMENT ON FUNCTION idem_resolve(text, text, text, text, jsonb, text) IS
	'a person''s decision on an unresolved key: completed, retry or abandoned';

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
	       o.key_prefix || '_' || pg_catalog.replace(k.key::text, '-', '') AS key,
	       CASE k.state WHEN 'o' THEN 'open' WHEN 'u' THEN 'unknown' WHEN 'r' THEN 'released'
	                    WHEN 'c' THEN 'completed' WHEN 'f' THEN 'failed' WHEN 'a' THEN 'abandoned' END AS state,
	       coalesce(k.attempt, 1) AS attempt,
	       coalesce(k.claimed_at, k.completed_at OPERATOR(pg_catalog.-)
	                (k.elapsed::pg_catalog.float8 OPERATOR(pg_catalog.*) interval '1 millisecond')) AS claimed_at,
	       k.completed_at, k.lease_end, k.effect_ref, k.response, coalesce(k.response_omitted, false) AS response_omitted,
	       k.note
	FROM idem.key k LEFT JOIN idem.operation o ON o.id = k.policy;
COMMENT ON VIEW idem_keys IS 'the ledger, readable; claims of open transactions are not in it';

CREATE FUNCTION idem_grant(role regrole, operation text DEFAULT NULL, tenant text DEFAULT NULL) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF operation IS NOT NULL OR tenant IS NOT NULL THEN
		RAISE EXCEPTION 'grants for one operation or tenant are not supported yet' USING ERRCODE = '0A000',
			HINT = 'A grant without them covers every operation and tenant.';
	END IF;
	EXECUTE 'GRANT USAGE ON SCHEMA idem TO ' || role::text;
	EXECUTE 'GRANT EXECUTE ON FUNCTION
		@extschema@.idem_claim(text, text, jsonb, text, integer, interval, interval),
		@extschema@.idem_record(text, text, jsonb, text, jsonb, text, integer, interval),
		@extschema@.idem_once(text, text, jsonb, regprocedure, text, integer, interval, text, text),
		@extschema@.idem_complete(text, text, text, jsonb, bigint),
		@extschema@.idem_fail(text, text, jsonb, bigint),
		@extschema@.idem_release(text, text, bigint),
		@extschema@.idem_unknown(text, text, bigint),
		@extschema@.idem_lookup(text, text),
		@extschema@.idem_lookup(text, text, jsonb, text, integer)
		TO ' || role::text;
END $$;
COMMENT ON FUNCTION idem_grant(regrole, text, text) IS
	'lets a role claim, complete, fail, release and look up; never define, drop, expire, resolve or list';

------------------------------------------------------------------------------------------------
-- Privileges: what changes or reads the ledger is for those to whom it was granted
------------------------------------------------------------------------------------------------

REVOKE ALL ON FUNCTION
	idem.check_policy(text, integer, text, jsonb, text[]), idem.has_keys(smallint), idem.has_rows(smallint), idem.wait_for_claims(),
	idem.guard_operation(), idem.policy_changed(), idem.warn_about_fields(text, jsonb, text[]),
	idem_define(text, integer, text, jsonb, text[], text, text, interval, interval, interval, interval, integer),
	idem_drop_operation(text, integer),
	idem_claim(text, text, jsonb, text, integer, interval, interval),
	idem_record(text, text, jsonb, text, jsonb, text, integer, interval),
	idem_once(text, text, jsonb, regprocedure, text, integer, interval, text, text),
	idem_complete(text, text, text, jsonb, bigint),
	idem_fail(text, text, jsonb, bigint),
	idem_release(text, text, bigint),
	idem_unknown(text, text, bigint),
	idem_resolve(text, text, text, text, jsonb, text),
	idem_lookup(text, text),
	idem_lookup(text, text, jsonb, text, integer),
	idem_expire(integer),
	idem_grant(regrole, text, text)
	FROM PUBLIC;
