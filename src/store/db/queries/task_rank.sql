-- Changes the position of a task among those of its lane: minus its priority. Primary key.
-- @changes
UPDATE task SET rank = ?2 WHERE id = ?1
