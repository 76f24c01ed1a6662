\set i random(1000000, 800000000000000000)
SELECT bench.refund_by_hand('acme', bench.arguments(:i));
