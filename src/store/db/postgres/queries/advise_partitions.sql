-- One sentence for each table that has no partition for today or tomorrow. The leader creates those
-- of later days.
SELECT format('%s has no partition for %s: SELECT %I.make_partitions()', parent,
              string_agg(to_char(day, 'YYYY-MM-DD'), ', ' ORDER BY day), current_schema())
FROM unnest(ARRAY['task', 'ended', 'event']) AS parent
CROSS JOIN LATERAL (
    SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date + n AS day FROM generate_series(0, 1) AS n
    ) d
WHERE to_regclass(quote_ident(parent || '_' || to_char(day, 'YYYYMMDD'))) IS NULL
GROUP BY parent
UNION ALL
SELECT format('%s_default holds rows of days that have no partition, and grows: SELECT '
              '%I.make_partitions() moves those of today and later', parent, current_schema())
FROM (SELECT 'task' WHERE EXISTS (SELECT 1 FROM task_default)
      UNION ALL
      SELECT 'ended' WHERE EXISTS (SELECT 1 FROM ended_default)
      UNION ALL
      SELECT 'event' WHERE EXISTS (SELECT 1 FROM event_default)) AS f (parent)
