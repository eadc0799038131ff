-- Whether the list of migrations exists.
SELECT to_regclass('schema_migrations') IS NOT NULL
