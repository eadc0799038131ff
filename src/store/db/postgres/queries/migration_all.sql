-- The applied migrations.
SELECT id, description,
       to_char(executed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
FROM schema_migrations ORDER BY id
