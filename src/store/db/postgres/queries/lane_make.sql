-- A lane, created if it is missing and $4 is not 0. No row: another node has just created it; run
-- it again. Index lane_name. Of several lanes with one name, which submits in SQL may create, it is
-- the first.
-- @changes
WITH made AS (
    INSERT INTO lane (namespace, type, resources)
    SELECT $1::text, $2::text, $3::text
    WHERE $4::bigint <> 0
      AND NOT EXISTS (SELECT 1 FROM lane
                      WHERE namespace = $1::text AND type = $2::text AND resources = $3::text)
    ON CONFLICT DO NOTHING
    RETURNING id, namespace, type, resources)
SELECT id, namespace, type, resources FROM made
UNION ALL
(SELECT id, namespace, type, resources FROM lane
 WHERE namespace = $1::text AND type = $2::text AND resources = $3::text
 ORDER BY id LIMIT 1)
