\set i random(1, :intents)
SELECT state, effect_ref, completed_at FROM bench.plain
	WHERE key = bench.uuid_of(idem_digest(bench.arguments(:i)));
