-- The token that submitted a task, as the first bits of its id; null: unknown. Primary key.
SELECT submitter FROM task WHERE id = ?1
