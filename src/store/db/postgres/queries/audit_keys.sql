-- Keys whose task is deleted, and visible tasks whose key is not taken. A task
-- with a scope may have lost its key to another one. Reads whole tables.
SELECT (SELECT count(*) FROM task_key k
        WHERE NOT EXISTS (SELECT 1 FROM task t WHERE t.id = k.task))
     + (SELECT count(*) FROM task t JOIN task_standing s ON s.id = t.id
        WHERE s.deleted_us IS NULL
          AND (t.key IS NOT NULL OR t.input_hash IS NOT NULL) AND t.key_scope IS NULL
          AND NOT EXISTS (SELECT 1 FROM task_key k WHERE k.task = t.id))
