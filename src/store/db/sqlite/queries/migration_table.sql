-- Whether the list of migrations exists.
SELECT count(*) FROM sqlite_schema WHERE name = 'schema_migrations'
