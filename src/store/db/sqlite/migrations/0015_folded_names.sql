-- Types and resources that differ only in the case of letters are the same.
--
-- Each spelling of a type keeps its lanes. Resources have one row for all spellings, with the
-- lowest of their limits. Hashes of keys contain the type in lower case; faina_key_hash is a
-- function of the engine (db_sqlite.c).

CREATE INDEX lane_folded ON lane (namespace, type COLLATE NOCASE);

CREATE INDEX resource_spelling ON resource (name COLLATE NOCASE);
UPDATE resource
SET max_concurrency = (SELECT min(o.max_concurrency) FROM resource o
                       WHERE o.name = resource.name COLLATE NOCASE),
    is_set = (SELECT max(o.is_set) FROM resource o WHERE o.name = resource.name COLLATE NOCASE)
WHERE EXISTS (SELECT 1 FROM resource o
              WHERE o.name = resource.name COLLATE NOCASE AND o.id <> resource.id);
INSERT OR IGNORE INTO hold (resource, task)
SELECT (SELECT min(o.id) FROM resource o WHERE o.name = r.name COLLATE NOCASE), h.task
FROM hold h JOIN resource r ON r.id = h.resource;
DELETE FROM hold
WHERE resource IN (SELECT r.id FROM resource r
                   WHERE EXISTS (SELECT 1 FROM resource o
                                 WHERE o.name = r.name COLLATE NOCASE AND o.id < r.id));
DELETE FROM resource
WHERE id NOT IN (SELECT min(o.id) FROM resource o GROUP BY o.name COLLATE NOCASE);
DROP INDEX resource_spelling;
CREATE UNIQUE INDEX resource_folded ON resource (name COLLATE NOCASE);

UPDATE task_key SET hash = faina_key_hash('key', l.namespace, lower(l.type), t.key)
FROM task t JOIN lane l ON l.id = t.lane
WHERE EXISTS (SELECT 1 FROM lane WHERE type <> lower(type))
  AND l.type <> lower(l.type) AND t.key IS NOT NULL AND task_key.task = t.id
  AND task_key.hash = faina_key_hash('key', l.namespace, l.type, t.key);
UPDATE task_key SET hash = faina_key_hash('input', l.namespace, lower(l.type), t.input_hash)
FROM task t JOIN lane l ON l.id = t.lane
WHERE EXISTS (SELECT 1 FROM lane WHERE type <> lower(type))
  AND l.type <> lower(l.type) AND t.input_hash IS NOT NULL AND task_key.task = t.id
  AND task_key.hash = faina_key_hash('input', l.namespace, l.type, t.input_hash);
