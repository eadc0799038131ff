-- Tasks that have not ended, newest first. Reads all of them and keeps the $4 newest; $5 is the set
-- of statuses.
SELECT id FROM (
    SELECT id, lane FROM ready WHERE $5::bigint & 1 <> 0
    UNION ALL
    SELECT id, lane FROM held WHERE ($5::bigint >> status) & 1 <> 0
    UNION ALL
    SELECT id, lane FROM parked WHERE ($5::bigint >> status) & 1 <> 0) s
WHERE id < $1 AND id >= $2
  AND ($3::text IS NULL OR lane = ANY (ARRAY(SELECT json_array_elements_text($3::json)::integer)))
ORDER BY id DESC
LIMIT $4
