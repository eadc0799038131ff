-- Types and resources that differ only in the case of letters are the same.
--
-- Each spelling of a type keeps its lanes. Resources have one row for all spellings, with the
-- lowest of their limits. Hashes of keys contain the type in lower case. Names are compared as
-- lower(NAME COLLATE "C"), which changes ASCII letters only.
--
-- To apply it by hand: SET search_path to the schema, then run the file. Twice does no harm.

CREATE INDEX IF NOT EXISTS lane_folded ON lane (namespace, lower(type COLLATE "C"));
DROP INDEX IF EXISTS lane_type;
CREATE INDEX lane_type ON lane (lower(type COLLATE "C"));

-- Resources -------------------------------------------------------------------------------------

CREATE INDEX IF NOT EXISTS resource_spelling ON resource (lower(name COLLATE "C"));
UPDATE resource r
SET max_concurrency = s.max_concurrency, is_set = s.is_set
FROM (SELECT lower(name COLLATE "C") AS folded, min(max_concurrency) AS max_concurrency,
             max(is_set) AS is_set
      FROM resource GROUP BY 1 HAVING count(*) > 1) s
WHERE lower(r.name COLLATE "C") = s.folded;
INSERT INTO hold (resource, task)
SELECT (SELECT min(o.id) FROM resource o
        WHERE lower(o.name COLLATE "C") = lower(r.name COLLATE "C")), h.task
FROM hold h JOIN resource r ON r.id = h.resource
ON CONFLICT DO NOTHING;
DELETE FROM hold h USING resource r, resource o
WHERE h.resource = r.id AND o.id < r.id
  AND lower(o.name COLLATE "C") = lower(r.name COLLATE "C");
DELETE FROM resource r USING resource o
WHERE o.id < r.id AND lower(o.name COLLATE "C") = lower(r.name COLLATE "C");
DROP INDEX resource_spelling;
CREATE UNIQUE INDEX IF NOT EXISTS resource_folded ON resource (lower(name COLLATE "C"));

-- As in 0005, but of several spellings of a name the first counts.
CREATE OR REPLACE FUNCTION submit_resources(place text, value jsonb)
RETURNS text LANGUAGE plpgsql
AS $$
DECLARE
    count integer;
    names text;
BEGIN
    IF value IS NULL OR jsonb_typeof(value) = 'null' THEN
        RETURN '[]';
    END IF;
    IF jsonb_typeof(value) <> 'array' THEN
        PERFORM submit_refuse(place, 'resources', 'must be an array of strings',
                              'Write it as ["gpu", "disk"].');
    END IF;
    count := jsonb_array_length(value);
    IF count > 16 THEN
        PERFORM submit_refuse(place, 'resources', format('has %s items; the limit is 16', count),
                              'Use one resource for several that always go together.');
    END IF;
    FOR i IN 0..count - 1 LOOP
        IF jsonb_typeof(value -> i) <> 'string' THEN
            PERFORM submit_refuse(place, 'resources', 'must be an array of strings',
                                  'Write it as ["gpu", "disk"].');
        END IF;
        PERFORM submit_name(place, format('resources[%s]', i), value -> i, 255);
    END LOOP;
    SELECT string_agg(to_json(n)::text, ',' ORDER BY lower(n COLLATE "C"), n COLLATE "C")
    INTO names
    FROM (SELECT DISTINCT ON (lower(n COLLATE "C")) n
          FROM jsonb_array_elements_text(value) AS e (n)
          ORDER BY lower(n COLLATE "C"), n COLLATE "C") AS d;
    RETURN '[' || coalesce(names, '') || ']';
END $$;

-- Keys ------------------------------------------------------------------------------------------

-- The hash of a key, as fa_key_hash in src/store/queue/submit.c makes it.
CREATE OR REPLACE FUNCTION submit_key_hash(kind text, ns text, type text, key text,
                                           OUT low bigint, OUT high bigint)
LANGUAGE plpgsql IMMUTABLE
AS $$
DECLARE
    bytes bytea := ''::bytea;
    part text;
    digest bytea;
BEGIN
    FOREACH part IN ARRAY ARRAY[kind, ns, type, key] LOOP
        bytes := bytes || int8send(octet_length(convert_to(part, 'UTF8'))) ||
                 convert_to(part, 'UTF8');
    END LOOP;
    digest := sha256(bytes);
    low := submit_int8(digest, 0);
    high := submit_int8(digest, 8);
    IF low = 0 THEN
        low := 1;
    END IF;
END $$;

-- As in 0005, with the type in lower case.
CREATE OR REPLACE FUNCTION submit_take_key(ns text, kind text, INOUT task new_task)
LANGUAGE plpgsql
AS $$
DECLARE
    hash CONSTANT record := submit_key_hash('key', ns, lower(kind COLLATE "C"), task.key);
    holder bigint;
BEGIN
    LOOP
        SELECT k.task INTO holder FROM task_key k WHERE k.hash = hash.low AND k.more = hash.high;
        IF FOUND THEN
            task.id := holder;
            task.existing := true;
            RETURN;
        END IF;
        INSERT INTO task_key (hash, more, task) VALUES (hash.low, hash.high, task.id)
        ON CONFLICT DO NOTHING;
        IF FOUND THEN
            RETURN;
        END IF;
    END LOOP;
END $$;

-- The keys of types that are not in lower case. If a key was used with two spellings, the task that
-- has it in lower case keeps it, else the oldest.
DO $$ BEGIN
    IF EXISTS (SELECT 1 FROM lane WHERE type <> lower(type COLLATE "C")) THEN
        WITH keyed AS MATERIALIZED (
            SELECT t.id, k.kind, l.namespace, l.type, k.key
            FROM lane l JOIN task t ON t.lane = l.id
            CROSS JOIN LATERAL (VALUES ('key', t.key), ('input', t.input_hash)) AS k (kind, key)
            WHERE l.type <> lower(l.type COLLATE "C") AND k.key IS NOT NULL),
        gone AS (
            DELETE FROM task_key k USING keyed d
            WHERE (k.hash, k.more) = (SELECT h.low, h.high
                                      FROM submit_key_hash(d.kind, d.namespace, d.type, d.key) h)
              AND k.task = d.id
            RETURNING k.task, d.kind, d.namespace, d.type, d.key)
        INSERT INTO task_key (hash, more, task)
        SELECT h.low, h.high, g.task
        FROM gone g
        CROSS JOIN LATERAL submit_key_hash(g.kind, g.namespace, lower(g.type COLLATE "C"), g.key) h
        ORDER BY g.task
        ON CONFLICT DO NOTHING;
    END IF;
END $$;

-- As in 0011: one owner, also when a superuser applies this step.
DO $$
DECLARE
    owner CONSTANT name := (SELECT pg_get_userbyid(relowner) FROM pg_class
                            WHERE oid = 'task'::regclass);
BEGIN
    IF owner <> current_user THEN
        EXECUTE format('ALTER FUNCTION submit_key_hash OWNER TO %I', owner);
    END IF;
END $$;

SELECT revoke_public();

INSERT INTO schema_migrations (id, description, executed_at) VALUES
    ('0017_folded_names', 'Types and resources that differ only in the case of letters are the '
                          'same.', now())
ON CONFLICT (id) DO NOTHING;
