-- Emitted events before a position and not before a time, newest first; of one type, or ('') of
-- all. Index happened_at.
SELECT type, data, at_us, tasks, failures, seq, id, namespace
FROM happened
WHERE (at_us, seq) < (?1, ?2) AND at_us >= ?6 AND (namespace = ?3 OR ?3 = '*')
    AND (type = ?4 OR ?4 = '')
ORDER BY at_us DESC, seq DESC
LIMIT ?5
