-- Types by name, in all spellings together, after one in a namespace: those that have lanes or are
-- paused, and their counts by status. ?4 is the only namespace, or null. Index lane_folded. Counts
-- out of range are damaged and left out.
WITH page (namespace, type) AS (
    SELECT namespace, min(type) FROM (
        SELECT * FROM (SELECT namespace, min(type) AS type FROM lane
                       WHERE (namespace, type COLLATE NOCASE) > (?2, ?3)
                           AND (?4 IS NULL OR namespace = ?4)
                       GROUP BY namespace, type COLLATE NOCASE
                       ORDER BY namespace, type COLLATE NOCASE LIMIT ?1)
        UNION ALL
        SELECT * FROM (SELECT namespace, type FROM paused
                       WHERE (namespace, type COLLATE NOCASE) > (?2, ?3)
                           AND (?4 IS NULL OR namespace = ?4)
                       ORDER BY namespace, type COLLATE NOCASE LIMIT ?1))
    GROUP BY namespace, type COLLATE NOCASE
    ORDER BY namespace, type COLLATE NOCASE
    LIMIT ?1
)
SELECT g.namespace, g.type,
       EXISTS (SELECT 1 FROM paused p WHERE p.namespace = g.namespace
               AND p.type = g.type COLLATE NOCASE),
       sum(CASE WHEN t.status = 0 THEN t.n ELSE 0 END),
       sum(CASE WHEN t.status = 1 THEN t.n ELSE 0 END),
       sum(CASE WHEN t.status = 2 THEN t.n ELSE 0 END),
       sum(CASE WHEN t.status = 3 THEN t.n ELSE 0 END),
       sum(CASE WHEN t.status = 4 THEN t.n ELSE 0 END),
       sum(CASE WHEN t.status = 5 THEN t.n ELSE 0 END),
       sum(CASE WHEN t.status = 6 THEN t.n ELSE 0 END),
       sum(CASE WHEN t.status = 7 THEN t.n ELSE 0 END),
       sum(CASE WHEN t.status = 8 THEN t.n ELSE 0 END)
FROM page g
LEFT JOIN lane l ON l.namespace = g.namespace AND l.type = g.type COLLATE NOCASE
LEFT JOIN tally t ON t.lane = l.id
    AND t.n BETWEEN -1000000000000000 AND 1000000000000000
GROUP BY g.namespace, g.type
ORDER BY g.namespace, g.type COLLATE NOCASE
