-- The end of the next lanes by id, up to ?2 of them.
SELECT max(id), count(*) FROM (SELECT id FROM lane WHERE id > ?1 ORDER BY id LIMIT ?2) l
