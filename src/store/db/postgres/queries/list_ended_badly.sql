-- Tasks that ended without completing, newest first. Index ended_badly.
SELECT id FROM unnest(ARRAY[6, 7, 8]) AS s (status)
CROSS JOIN LATERAL (
    SELECT id FROM ended
    WHERE ended.status = s.status AND ended.status <> 5 AND ($5::bigint >> s.status) & 1 <> 0
      AND id < $1 AND id >= $2
      AND ($3::text IS NULL
           OR lane = ANY (ARRAY(SELECT json_array_elements_text($3::json)::integer)))
    ORDER BY id DESC
    LIMIT $4) e
ORDER BY id DESC
LIMIT $4
