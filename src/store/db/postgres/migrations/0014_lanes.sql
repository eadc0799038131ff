-- Lanes without tasks are removed, and a namespace has a limited number of them.
--
--   V1  A lane is deleted together with its counts, in a transaction that has locked all of them,
--       when each sum is zero and the lane has no deleted tasks.
--   V2  A transaction that puts a task into a lane counts it: it either changes a row of `tally`,
--       and locks it until its end, or inserts one, which locks the lane by its foreign key.
--
-- So a lane in use can't be deleted, and a deleted lane can't be used: an engine that has it in its
-- cache violates the constraint, and runs its transaction again with the lanes of the store.
--
-- To apply it by hand: SET search_path to the schema, then run the file. Twice does no harm.

DELETE FROM tally t WHERE NOT EXISTS (SELECT 1 FROM lane l WHERE l.id = t.lane);
DO $$ BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_constraint
                   WHERE conname = 'tally_lane' AND conrelid = 'tally'::regclass) THEN
        ALTER TABLE tally ADD CONSTRAINT tally_lane FOREIGN KEY (lane) REFERENCES lane (id);
    END IF;
END $$;

-- Deleted tasks, which are not counted. IF NOT EXISTS would lock a table whose index is there.
DO $$ BEGIN
    IF to_regclass('ended_deleted') IS NULL THEN
        CREATE INDEX ended_deleted ON ended (lane) WHERE deleted_us IS NOT NULL;
    END IF;
END $$;

-- Removes the lanes without tasks among those with these ids, and returns them. What somebody else
-- is just using is left alone.
CREATE OR REPLACE FUNCTION remove_empty_lanes(after bigint, until bigint)
RETURNS SETOF integer LANGUAGE plpgsql
AS $$
DECLARE
    empty integer[];
BEGIN
    SELECT array_agg(l.id) INTO empty FROM lane l
    WHERE l.id > after AND l.id <= until
      AND NOT EXISTS (SELECT 1 FROM tally t WHERE t.lane = l.id
                      GROUP BY t.status HAVING sum(t.n) <> 0)
      AND NOT EXISTS (SELECT 1 FROM ready r WHERE r.lane = l.id)
      AND NOT EXISTS (SELECT 1 FROM ended e WHERE e.lane = l.id AND e.deleted_us IS NOT NULL);
    IF empty IS NULL THEN
        RETURN;
    END IF;
    -- From here on nobody makes a new row of counts for those that are left.
    SELECT array_agg(l.id) INTO empty
    FROM (SELECT id FROM lane WHERE id = ANY (empty) ORDER BY id FOR UPDATE SKIP LOCKED) l;
    -- Looked at once more, with what was committed in the meantime; a row that somebody else is
    -- changing is missing among those that are locked.
    WITH held AS MATERIALIZED (
        SELECT t.lane, t.status, t.n FROM tally t WHERE t.lane = ANY (empty)
        FOR UPDATE SKIP LOCKED),
    sums AS (SELECT h.lane, sum(h.n) AS n, count(*) AS rows FROM held h GROUP BY h.lane, h.status),
    used AS (
        SELECT s.lane FROM sums s WHERE s.n <> 0
        UNION ALL
        SELECT a.lane
        FROM (SELECT t.lane, count(*) AS rows FROM tally t WHERE t.lane = ANY (empty)
              GROUP BY t.lane) a
        LEFT JOIN (SELECT s.lane, sum(s.rows) AS rows FROM sums s GROUP BY s.lane) b
               ON b.lane = a.lane
        WHERE b.rows IS DISTINCT FROM a.rows
        UNION ALL
        SELECT e.lane FROM ended e WHERE e.lane = ANY (empty) AND e.deleted_us IS NOT NULL)
    SELECT array_agg(id) INTO empty FROM unnest(empty) AS l (id)
    WHERE l.id NOT IN (SELECT u.lane FROM used u)
      AND NOT EXISTS (SELECT 1 FROM ready r WHERE r.lane = l.id);
    DELETE FROM tally t WHERE t.lane = ANY (empty);
    DELETE FROM lane l WHERE l.id = ANY (empty);
    RETURN QUERY SELECT l.id FROM unnest(empty) AS l (id);
END $$;

-- The lane of a task that is about to be stored. It is held until the end of the transaction, which
-- keeps nobody waiting but who would remove it. Types are limited as in src/model/limits.h; each
-- counts once for every set of resources that it is used with. It runs inside submit and
-- submit_many, with their rights and their search_path (0011, R1).
CREATE OR REPLACE FUNCTION submit_lane(ns text, kind text, names text)
RETURNS integer LANGUAGE plpgsql
AS $$
DECLARE
    types_max CONSTANT integer := 100000;
    sets_max CONSTANT integer := 1000;
    found integer;
BEGIN
    SELECT l.id INTO found FROM lane l
    WHERE l.namespace = ns AND l.type = kind
      AND hashtextextended(l.resources, 0) = hashtextextended(names, 0) AND l.resources = names
    ORDER BY l.id LIMIT 1
    FOR KEY SHARE;
    IF found IS NOT NULL THEN
        RETURN found;
    END IF;
    IF (SELECT count(*) FROM (SELECT 1 FROM lane l WHERE l.namespace = ns LIMIT types_max) c) >=
       types_max THEN
        PERFORM submit_refuse('', 'type', format('would be one more than the %s types that '
                                                 'namespace %s may have', types_max, left(ns, 100)),
                              'Remove old tasks, or use the input to tell tasks apart.');
    END IF;
    IF (SELECT count(*) FROM (SELECT 1 FROM lane l WHERE l.namespace = ns AND l.type = kind
                              LIMIT sets_max) c) >= sets_max THEN
        PERFORM submit_refuse('', 'resources', format('would be one more than the %s sets of '
                                                      'resources that a type may have', sets_max),
                              'Use fewer resources.');
    END IF;
    INSERT INTO lane (namespace, type, resources, maker)
    VALUES (ns, kind, names, pg_current_xact_id()::text::bigint)
    RETURNING id INTO found;
    RETURN found;
END $$;

-- Claims that name types ask for the lanes of these, when there are many lanes.
DO $$ BEGIN
    IF to_regclass('lane_type') IS NULL THEN
        CREATE INDEX lane_type ON lane (type);
    END IF;
END $$;

-- Which lanes have the best tasks is found by an index by rank and id. It makes submits in large
-- batches a sixth slower, so only stores with thousands of lanes have it: the first claim that
-- finds so many makes it, unless it would have to wait, or keep others waiting for long. Returns
-- whether it is there.
CREATE OR REPLACE FUNCTION index_ready()
RETURNS boolean LANGUAGE plpgsql SET lock_timeout = '200ms'
AS $$
BEGIN
    IF to_regclass('ready_best') IS NULL THEN
        IF (SELECT c.reltuples FROM pg_class c WHERE c.oid = 'ready'::regclass) > 2000000 THEN
            RETURN false;
        END IF;
        CREATE INDEX ready_best ON ready (rank, id);
    END IF;
    RETURN true;
EXCEPTION WHEN OTHERS THEN
    RETURN false;
END $$;

-- As in 0011: temporary tables last, and one owner, also when a superuser applies this step.
DO $$
DECLARE
    item text;
    owner CONSTANT name := (SELECT pg_get_userbyid(relowner) FROM pg_class
                            WHERE oid = 'task'::regclass);
BEGIN
    FOREACH item IN ARRAY ARRAY['remove_empty_lanes', 'index_ready'] LOOP
        EXECUTE format('ALTER FUNCTION %I SET search_path = %I, pg_temp', item, current_schema());
        IF owner <> current_user THEN
            EXECUTE format('ALTER FUNCTION %I OWNER TO %I', item, owner);
        END IF;
    END LOOP;
END $$;

SELECT revoke_public();
