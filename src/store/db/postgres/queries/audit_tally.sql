-- Stored counts that differ from the rows they count. Reads whole tables.
SELECT count(*) FROM (
    SELECT lane, status FROM (
        SELECT lane, status, n FROM tally
        UNION ALL
        SELECT lane, status, -count(*) FROM task_standing WHERE deleted_us IS NULL
        GROUP BY lane, status) a
    GROUP BY lane, status HAVING sum(n) <> 0) b
