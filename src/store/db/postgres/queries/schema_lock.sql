-- Creates the schema that search_path names and its list of migrations, where they are missing, and
-- locks the list until the transaction ends: one migration runs at a time. An advisory lock would
-- not do, since any role could hold it. When two nodes create the schema at once, the second waits
-- in CREATE for the commit of the first and continues with what exists then. A role that may not
-- create schemas may own one, so CREATE SCHEMA runs only where there is none.
-- @script
SET LOCAL lock_timeout = '60s';
SET LOCAL statement_timeout = '10min';
SET LOCAL client_min_messages = warning;
DO $do$
DECLARE
    name text := current_setting('search_path');
    found oid := to_regnamespace(name);
BEGIN
    IF found IS NULL AND NOT has_database_privilege(current_database(), 'CREATE') THEN
        RAISE insufficient_privilege USING MESSAGE = format(
            '%I may not make the schema; ask the owner of the database for '
            'CREATE SCHEMA %s AUTHORIZATION %I', current_user, name, current_user);
    ELSIF found IS NULL THEN
        BEGIN EXECUTE 'CREATE SCHEMA ' || name;
        EXCEPTION WHEN duplicate_schema OR unique_violation THEN NULL; END;
    ELSIF NOT has_schema_privilege(found, 'USAGE') OR NOT has_schema_privilege(found, 'CREATE') THEN
        RAISE insufficient_privilege USING MESSAGE = format(
            'the schema belongs to %s, and %I may not change it',
            (SELECT nspowner FROM pg_namespace WHERE oid = found)::regrole, current_user);
    END IF;
END $do$;
DO $do$ BEGIN
    CREATE TABLE IF NOT EXISTS schema_migrations (id text PRIMARY KEY,
        description text NOT NULL, executed_at timestamptz NOT NULL);
EXCEPTION WHEN duplicate_table OR duplicate_object OR unique_violation THEN NULL;
END $do$;
LOCK TABLE schema_migrations IN SHARE UPDATE EXCLUSIVE MODE;
