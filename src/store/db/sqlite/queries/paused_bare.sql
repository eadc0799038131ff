-- Paused types that have no lanes, by name.
SELECT p.namespace, p.type
FROM paused p
WHERE (?1 IS NULL OR p.namespace = ?1) AND (?3 IS NULL OR p.type = ?3 COLLATE NOCASE)
  AND NOT EXISTS (SELECT 1 FROM lane l WHERE l.namespace = p.namespace
                    AND l.type = p.type COLLATE NOCASE)
ORDER BY 1, 2
LIMIT ?2
