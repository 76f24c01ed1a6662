-- The clock of all modes: time of the server process on a processor.

-- The kernel brings the figure up to date when the process leaves the processor: it sleeps first.
CREATE FUNCTION bench.processor_micros() RETURNS numeric LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	PERFORM pg_sleep(0.001);
	RETURN split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::numeric / 1000;
END $$;
