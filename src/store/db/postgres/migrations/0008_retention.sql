-- Functions for retention: which day is wholly past its time, and dropping it.

-- The oldest day (UTC) of which every task has ended before the given times, those that completed
-- and the others. A day stays while a task of it has subtasks in a later one, and while the parent
-- of a task of it stays.
CREATE OR REPLACE FUNCTION old_day(completed_us bigint, failed_us bigint)
RETURNS TABLE (low bigint, high bigint, tasks bigint, versions bigint)
LANGUAGE plpgsql STABLE SET search_path FROM CURRENT
AS $$
DECLARE
    day date;
BEGIN
    FOR day IN SELECT to_date(right(c.relname, 8), 'YYYYMMDD') AS d
               FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
               WHERE i.inhparent = 'task'::regclass AND c.relname ~ '^task_[0-9]{8}$'
               ORDER BY d LOOP
        low := (extract(epoch FROM day) * 1000)::bigint << 12;
        high := (extract(epoch FROM day + 1) * 1000)::bigint << 12;
        EXIT WHEN high > (greatest(completed_us, failed_us) / 1000) << 12;
        CONTINUE WHEN EXISTS (
            SELECT 1 FROM task t
            WHERE t.id >= low AND t.id < high AND NOT EXISTS (
                SELECT 1 FROM ended e
                WHERE e.id = t.id AND e.completed_us <
                      CASE e.status WHEN 5 THEN old_day.completed_us ELSE failed_us END));
        CONTINUE WHEN EXISTS (
            SELECT 1 FROM task c
            WHERE c.parent >= low AND c.parent < high AND c.id >= high);
        CONTINUE WHEN EXISTS (
            SELECT 1 FROM task t
            JOIN task p ON p.id = t.parent
            LEFT JOIN ended o ON o.id = p.id
            WHERE t.id >= low AND t.id < high AND t.parent < low
              AND (o.id IS NULL OR o.completed_us >=
                   CASE o.status WHEN 5 THEN old_day.completed_us ELSE failed_us END));
        SELECT count(*), coalesce(sum(e.version), 0) INTO tasks, versions
        FROM ended e WHERE e.id >= low AND e.id < high;
        RETURN NEXT;
        EXIT;
    END LOOP;
END $$;

-- Drops a day when it still has that many tasks, all ended, with these versions; else it returns
-- false and changes nothing. Its locks stop the queue until the commit, so give it a transaction of
-- its own; it gives up when it must wait.
CREATE OR REPLACE FUNCTION drop_day(low bigint, high bigint, tasks bigint, versions bigint)
RETURNS boolean LANGUAGE plpgsql SET lock_timeout = '500ms' SET search_path FROM CURRENT
AS $$
DECLARE
    suffix text := to_char(to_timestamp((low >> 12) / 1000.0) AT TIME ZONE 'UTC', 'YYYYMMDD');
    part text;
    is_same boolean;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext(current_schema() || '.make_partitions'));
    LOCK TABLE task, ended, event IN ACCESS EXCLUSIVE MODE;
    SELECT (SELECT count(*) FROM task t WHERE t.id >= low AND t.id < high) = tasks
       AND (SELECT count(*) = tasks AND coalesce(sum(e.version), 0) = versions
            FROM ended e WHERE e.id >= low AND e.id < high)
       AND NOT EXISTS (SELECT 1 FROM task c
                       WHERE c.parent >= low AND c.parent < high AND c.id >= high)
    INTO is_same;
    IF NOT is_same THEN
        RETURN false;
    END IF;
    INSERT INTO tally (lane, status, shard, n)
    SELECT e.lane, e.status, low, -count(*) FROM ended e
    WHERE e.id >= low AND e.id < high AND e.deleted_us IS NULL
    GROUP BY e.lane, e.status
    ON CONFLICT (lane, status, shard) DO UPDATE SET n = tally.n + excluded.n;
    DELETE FROM task_key k USING task t WHERE t.id = k.task AND t.id >= low AND t.id < high;
    DELETE FROM task_dep d WHERE d.task >= low AND d.task < high;
    DELETE FROM task_dep d WHERE d.needs >= low AND d.needs < high;
    DELETE FROM origin o WHERE o.task >= low AND o.task < high;
    FOREACH part IN ARRAY ARRAY['event', 'ended', 'task'] LOOP
        EXECUTE format('DROP TABLE IF EXISTS %I', part || '_' || suffix);
    END LOOP;
    DELETE FROM event_default WHERE task >= low AND task < high;
    DELETE FROM ended_default WHERE id >= low AND id < high;
    DELETE FROM task_default WHERE id >= low AND id < high;
    RETURN true;
END $$;
