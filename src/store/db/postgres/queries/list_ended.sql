-- Completed tasks newest first. Reads the primary key backwards.
SELECT id FROM ended
WHERE id < $1 AND id >= $2 AND status = 5
  AND ($3::text IS NULL OR lane = ANY (ARRAY(SELECT json_array_elements_text($3::json)::integer)))
ORDER BY id DESC
LIMIT $4
