-- Tasks of a submitter (created_by), newest first. Index task_created_by.
SELECT id FROM task
WHERE created_by = $6 AND id < $1 AND id >= $2
  AND ($3::text IS NULL OR lane = ANY (ARRAY(SELECT json_array_elements_text($3::json)::integer)))
  AND ($7::bigint = 0 OR created_us < $7)
ORDER BY id DESC
LIMIT $4
