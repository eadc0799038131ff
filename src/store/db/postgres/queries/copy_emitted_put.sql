-- Stores an emitted event unchanged, with its number, after which new numbers continue. Primary
-- key.
-- @changes
INSERT INTO happened (seq, namespace, id, type, data, at_us, tasks, failures)
SELECT s.seq, $2, $3, $4, $5, $6::bigint, $7, $8
FROM (SELECT setval(pg_get_serial_sequence('happened', 'seq'), $1::bigint) AS seq) s
