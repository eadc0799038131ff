-- Takes one event that was emitted in SQL, by its number. Primary key.
-- @changes
DELETE FROM happened_inbox
WHERE seq = $1
RETURNING seq, at_us, namespace, id, type, data
