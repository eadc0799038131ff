-- The namespaces of types, workflows and schedules after one, ?2 at most. Each is found by a search
-- in the unique indexes, so the cost doesn't depend on the number of types.
WITH RECURSIVE used (name) AS (
    SELECT (SELECT min(n) FROM (
        SELECT min(namespace) AS n FROM lane WHERE namespace > ?1
        UNION ALL SELECT min(namespace) FROM workflow WHERE namespace > ?1
        UNION ALL SELECT min(namespace) FROM cron WHERE namespace > ?1))
    UNION ALL
    SELECT (SELECT min(n) FROM (
        SELECT min(namespace) AS n FROM lane WHERE namespace > used.name
        UNION ALL SELECT min(namespace) FROM workflow WHERE namespace > used.name
        UNION ALL SELECT min(namespace) FROM cron WHERE namespace > used.name))
    FROM used
    WHERE used.name IS NOT NULL
    LIMIT ?2
)
SELECT name FROM used WHERE name IS NOT NULL
