-- Which token submitted a task, as the first bits of its id; null: none that this is kept of.
-- Primary key.
SELECT submitter FROM task WHERE id = ?1
