-- Stored counts that differ from the rows they count. Reads whole tables.
SELECT count(*) FROM (
    SELECT lane, status, total(n) AS n FROM (
        SELECT lane, status, n FROM tally
        UNION ALL
        SELECT lane, status, -count(*) FROM task_standing WHERE deleted_us IS NULL
        GROUP BY lane, status)
    GROUP BY lane, status HAVING total(n) <> 0)
