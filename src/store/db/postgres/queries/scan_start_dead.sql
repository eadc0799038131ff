-- How many dead rows `ready` has, by the server's statistics. Reads no table.
SELECT pg_stat_get_dead_tuples('ready'::regclass)
