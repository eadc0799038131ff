-- Whether the schema knows of migrations.
SELECT to_regclass('schema_migrations') IS NOT NULL
