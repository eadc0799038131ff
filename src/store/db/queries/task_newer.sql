-- How many tasks are newer than ?1, at most ?2. The primary key.
SELECT count(*) FROM (SELECT 1 AS one FROM task WHERE id > ?1 LIMIT ?2) n
