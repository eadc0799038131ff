-- One sentence for each table with many changes that vacuum does not keep clean.
SELECT format('%s has %s dead rows, which make claims slow: see what keeps vacuum from removing '
              'them, then VACUUM %I.%I', relname, n_dead_tup, schemaname, relname)
FROM pg_stat_user_tables
WHERE schemaname = current_schema()
  AND relname IN ('ready', 'held', 'parked', 'hold', 'tally', 'worker') AND n_dead_tup > 100000
UNION ALL
SELECT format('%s takes %s on disk for %s rows: VACUUM FULL %I.%I makes it small, and stops the '
              'queue meanwhile', relname, pg_size_pretty(pg_table_size(relid)), n_live_tup,
              schemaname, relname)
FROM pg_stat_user_tables
WHERE schemaname = current_schema() AND relname IN ('ready', 'held', 'hold', 'tally', 'worker')
  AND pg_table_size(relid) > 32 * 1024 * 1024 + n_live_tup * 2000
UNION ALL
SELECT format('autovacuum is off for %s: ALTER TABLE %I.%I RESET (autovacuum_enabled)', c.relname,
              n.nspname, c.relname)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = current_schema()
  AND EXISTS (SELECT 1 FROM pg_options_to_table(c.reloptions) o
              WHERE o.option_name = 'autovacuum_enabled' AND NOT o.option_value::boolean)
