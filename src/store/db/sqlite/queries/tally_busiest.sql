-- The types with the most tasks that have not ended, and their counts by status, all spellings
-- together. The groups come in the order of the lanes' names; only ?2 of them are kept. ?3 is the
-- only type, or null. Counts out of range are damaged and left out.
SELECT l.namespace, min(l.type),
       EXISTS (SELECT 1 FROM paused p
               WHERE p.namespace = l.namespace AND p.type = l.type COLLATE NOCASE),
       sum(CASE WHEN t.status = 0 THEN t.n ELSE 0 END),
       sum(CASE WHEN t.status = 1 THEN t.n ELSE 0 END),
       sum(CASE WHEN t.status = 2 THEN t.n ELSE 0 END),
       sum(CASE WHEN t.status = 3 THEN t.n ELSE 0 END),
       sum(CASE WHEN t.status = 4 THEN t.n ELSE 0 END),
       sum(CASE WHEN t.status = 5 THEN t.n ELSE 0 END),
       sum(CASE WHEN t.status = 6 THEN t.n ELSE 0 END),
       sum(CASE WHEN t.status = 7 THEN t.n ELSE 0 END),
       sum(CASE WHEN t.status = 8 THEN t.n ELSE 0 END)
FROM lane l
LEFT JOIN tally t ON t.lane = l.id
    AND t.n BETWEEN -1000000000000000 AND 1000000000000000
WHERE (?1 IS NULL OR l.namespace = ?1) AND (?3 IS NULL OR l.type = ?3 COLLATE NOCASE)
GROUP BY l.namespace, l.type COLLATE NOCASE
ORDER BY sum(CASE WHEN t.status <= 4 THEN t.n ELSE 0 END) DESC, sum(t.n) DESC, 1, 2
LIMIT ?2
