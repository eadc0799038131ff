-- Takes events that were emitted in SQL, oldest first, up to $1. Primary key. Those that another
-- transaction takes just now are left to it.
DELETE FROM happened_inbox
WHERE seq IN (SELECT seq FROM happened_inbox ORDER BY seq LIMIT $1 FOR UPDATE SKIP LOCKED)
RETURNING seq, at_us, namespace, id, type, data
