-- Gives pending tasks what later submits with their keys have brought. Primary key.
-- @changes
-- @many rows
UPDATE task t
SET rank = p.rank, run_at_us = p.run_at_us, input = p.input, metadata = p.metadata
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[])
     AS p (id, rank, run_at_us, input, metadata)
WHERE t.id = p.id
