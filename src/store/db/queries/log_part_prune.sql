-- The time of the last part of a log that is older than its last ?3 bytes; null: there is none.
-- Primary key.
SELECT max(at_us) FROM (
    SELECT at_us, sum(length(detail)) OVER (ORDER BY at_us DESC) AS size FROM event
    WHERE task = ?1 AND at_us >= ?2 AND what = 'log_lines') AS parts
WHERE size > ?3
