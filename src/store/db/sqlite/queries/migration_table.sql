-- Whether the store knows of migrations.
SELECT count(*) FROM sqlite_schema WHERE name = 'schema_migrations'
