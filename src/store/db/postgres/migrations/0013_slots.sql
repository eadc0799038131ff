-- Ranges of keys for new tasks, so that no two writers make the same one
-- (src/store/txn/id_range.h).
--
-- A key ends with 6 bits, its slot. Slot 63 belongs to the sequence submit_key. Each other slot has
-- a row here: keys of it below `upto` were given to some writer and are never given out again.
--
-- To apply it by hand: SET search_path to the schema, then run the file. Twice does no harm.

CREATE TABLE IF NOT EXISTS id_slot (
    slot integer PRIMARY KEY,
    upto bigint NOT NULL
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

INSERT INTO id_slot (slot, upto) SELECT n, 0 FROM generate_series(0, 62) AS n
ON CONFLICT DO NOTHING;

-- Also when a superuser applies this step.
DO $$
DECLARE
    owner CONSTANT name := (SELECT pg_get_userbyid(relowner) FROM pg_class
                            WHERE oid = 'task'::regclass);
BEGIN
    IF owner <> current_user THEN
        EXECUTE format('ALTER TABLE id_slot OWNER TO %I', owner);
    END IF;
END $$;

SELECT revoke_public();
