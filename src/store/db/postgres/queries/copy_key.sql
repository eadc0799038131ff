-- The next keys, in the order of their hashes. Prefix of the primary key.
SELECT hash, task, more, NULL::text, NULL::text, NULL::text, NULL::bigint, NULL::text, NULL::text
FROM task_key
WHERE hash >= $1::bigint AND (hash, task) > ($1::bigint, $2::bigint)
ORDER BY hash, task
LIMIT $3
