-- Deletes emitted events older than ?1, up to ?2 of them. Index happened_at.
-- @changes
DELETE FROM happened
WHERE seq IN (SELECT seq FROM happened WHERE at_us < ?1 ORDER BY at_us LIMIT ?2)
