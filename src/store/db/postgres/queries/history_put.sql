-- Stores rows of the history; one that is there already stays as it is. Primary key.
-- @changes
-- @many rows
INSERT INTO history (seq, at_us, namespace, type, submitted, completed, failed, dead_letter,
                     cancelled, retried, waits, runs, waiting, running, oldest_ms)
SELECT seq, at_us, namespace, type, submitted, completed, failed, dead_letter, cancelled, retried,
       waits, runs, waiting, running, oldest_ms
FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::bigint[],
            $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::text[], $12::text[],
            $13::bigint[], $14::bigint[], $15::bigint[])
     AS p (seq, at_us, namespace, type, submitted, completed, failed, dead_letter, cancelled,
           retried, waits, runs, waiting, running, oldest_ms)
ON CONFLICT DO NOTHING
