\set i random(1, :intents)
SELECT outcome, effect_ref, response FROM idem_claim('acme', 'stored', bench.arguments(:i));
