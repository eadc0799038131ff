-- Which node a worker is a part of, and priorities of 32 bits.
--
-- To apply it by hand: SET search_path to the schema, then run the file. Twice does no harm.

-- hostname-pid-random, as in leader.holder; null: a client of a node.
ALTER TABLE worker ADD COLUMN IF NOT EXISTS node text;

-- As in 0016. A pool size of -1 is that of a node that runs no tasks.
CREATE OR REPLACE VIEW workers AS
    SELECT w.id, w.hostname, us_to_time(w.started_us) AS started_at,
           us_to_time(w.last_heartbeat_us) AS last_heartbeat, greatest(w.pool_size, 0) AS pool_size,
           coalesce(as_jsonb(w.types), '[]') AS types, as_jsonb(w.services) AS services, w.version,
           l.until_us IS NOT NULL AS is_leader, us_to_time(l.until_us) AS leader_until,
           (SELECT count(*) FROM held h WHERE h.worker = w.id) AS held
    FROM worker w
    LEFT JOIN leader l ON l.holder = w.node AND l.until_us > clock_us();

-- As in 0005, with the range of a priority.
CREATE OR REPLACE FUNCTION submit_number(place text, field text, value jsonb, value_min integer,
                                         value_max integer)
RETURNS integer LANGUAGE plpgsql
AS $$
DECLARE
    found numeric;
BEGIN
    IF field = 'priority' THEN -- submit_plan has the limits that it had before
        value_min := -2147483647;
        value_max := 2147483647;
    END IF;
    IF value IS NULL OR jsonb_typeof(value) = 'null' THEN
        RETURN NULL;
    END IF;
    IF jsonb_typeof(value) = 'number' THEN
        found := (value #>> '{}')::numeric;
    END IF;
    IF found IS NULL OR found < value_min OR found > value_max OR found <> trunc(found) THEN
        PERFORM submit_refuse(place, field, format('is %s; it must be a whole number from %s to %s',
                                                   left(value #>> '{}', 44), value_min, value_max),
                              'Leave it out for the default.');
    END IF;
    RETURN found;
END $$;

SELECT revoke_public();

INSERT INTO schema_migrations (id, description, executed_at)
VALUES ('0021_nodes', 'Which node a worker is a part of, and priorities of 32 bits.', now())
ON CONFLICT (id) DO NOTHING;
