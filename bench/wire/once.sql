\set i random(1000000, 800000000000000000)
SELECT outcome, effect_ref, response FROM idem_once('acme', 'payment',
	bench.arguments(:i), 'bench.issue_refund(jsonb)', ref_field => 'refund_id');
