-- One sentence for each setting of the server that costs speed or safety.
SELECT sentence
FROM (VALUES
    ('autovacuum', 'autovacuum is off, and dead rows will make the queue slow: set autovacuum = on '
                   'in postgresql.conf'),
    ('track_counts', 'track_counts is off, so autovacuum never starts: set track_counts = on in '
                     'postgresql.conf'),
    ('fsync', 'fsync is off, and a crash can destroy the database: set fsync = on in '
              'postgresql.conf'),
    ('full_page_writes', 'full_page_writes is off, and a crash can destroy the database: set '
                         'full_page_writes = on in postgresql.conf'),
    ('synchronous_commit', 'synchronous_commit is off by default, and what is submitted in SQL can '
                           'be lost in a crash: set it to on'))
    AS s (name, sentence)
WHERE current_setting(s.name) = 'off'
UNION ALL
SELECT 'pg_stat_statements is not there to show which statements cost time: add it to '
       'shared_preload_libraries, then CREATE EXTENSION pg_stat_statements'
WHERE NOT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'pg_stat_statements')
UNION ALL
SELECT format('only %s of %s connections are left: raise max_connections, or put pgbouncer in '
              'front', free, most)
FROM (SELECT current_setting('max_connections')::bigint AS most,
             current_setting('max_connections')::bigint
             - current_setting('superuser_reserved_connections')::bigint
             - (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS free
     ) c
WHERE free < greatest(5, most / 10)
