-- Takes events that were emitted in SQL, oldest first, up to $1, except those set aside until after
-- $2. Primary keys. Events that another transaction takes are skipped.
-- @changes
DELETE FROM happened_inbox
WHERE seq IN (SELECT i.seq FROM happened_inbox i
              WHERE NOT EXISTS (SELECT 1 FROM set_aside s
                                WHERE s.kind = 'event' AND s.key = i.seq::text AND s.until_us > $2)
              ORDER BY i.seq LIMIT $1 FOR UPDATE OF i SKIP LOCKED)
RETURNING seq, at_us, namespace, id, type, data
