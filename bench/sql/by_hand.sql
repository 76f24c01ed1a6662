-- The canonical form as people write it in PL/pgSQL: one recursive function. It comes close to
-- RFC 8785 and misses two details: names beyond the BMP sort by code point, and numbers never get an
-- exponent.
CREATE FUNCTION bench.canonical_by_hand(j jsonb) RETURNS text
	LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE
	result text;
BEGIN
	CASE jsonb_typeof(j)
	WHEN 'object' THEN
		SELECT '{' || coalesce(string_agg(
				to_json(e.key)::text || ':' || bench.canonical_by_hand(e.value), ','
				ORDER BY e.key COLLATE "C"), '') || '}'
			INTO result FROM jsonb_each(j) e;
	WHEN 'array' THEN
		SELECT '[' || coalesce(string_agg(bench.canonical_by_hand(e.value), ','
				ORDER BY e.ordinality), '') || ']'
			INTO result FROM jsonb_array_elements(j) WITH ORDINALITY e;
	WHEN 'number' THEN
		result := trim_scale(j::numeric)::text;
	ELSE
		result := j::text;
	END CASE;
	RETURN result;
END $$;
