-- One sentence for each session, prepared transaction or replication slot that keeps vacuum from
-- removing dead rows: for 5 minutes, or 100,000 transactions. A role without pg_read_all_stats sees
-- only its own sessions.
SELECT who || ' keeps dead rows from being removed, since ' || behind || ' transactions'
       || coalesce(' and ' || date_trunc('second', now() - since), '') || ': ' || remedy
FROM (SELECT xact_start, greatest(age(backend_xmin), age(backend_xid)),
             format('session %s of %s (%s)', pid, coalesce(usename, backend_type),
                    coalesce(nullif(application_name, ''), 'no name')),
             format('end it with SELECT pg_terminate_backend(%s)', pid)
      FROM pg_stat_activity
      WHERE pid <> pg_backend_pid() AND datname = current_database()
        AND coalesce(backend_xmin, backend_xid) IS NOT NULL
        AND backend_type <> 'autovacuum worker'
      UNION ALL
      SELECT prepared, age(transaction), format('the prepared transaction %s of %s', gid, owner),
             format('COMMIT PREPARED or ROLLBACK PREPARED %L', gid)
      FROM pg_prepared_xacts WHERE database = current_database()
      UNION ALL
      SELECT NULL, age(xmin), format('the replication slot %s', slot_name),
             format('let its standby catch up, or SELECT pg_drop_replication_slot(%L)', slot_name)
      FROM pg_replication_slots WHERE xmin IS NOT NULL) AS h (since, behind, who, remedy)
WHERE since < now() - interval '5 minutes' OR behind > 100000
UNION ALL
SELECT format('the replication slot %s is not in use, and keeps %s of log: start its standby, or '
              'SELECT pg_drop_replication_slot(%L)', slot_name,
              pg_size_pretty(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)), slot_name)
FROM pg_replication_slots WHERE NOT active AND restart_lsn IS NOT NULL
UNION ALL
SELECT format('the role %s can''t see which sessions of others keep dead rows: GRANT '
              'pg_read_all_stats TO %I', current_user, current_user)
WHERE NOT pg_has_role('pg_read_all_stats', 'USAGE')
