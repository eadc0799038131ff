-- The latest time at which the engine ran: the newest row of the log, the last heartbeat, the last
-- change of a held task. Times that a caller chose, such as the end of a lease, are left out. Reads
-- all of `held` and `worker`: small tables.
SELECT max(times.at_us)
FROM (SELECT (SELECT at_us FROM log ORDER BY seq DESC LIMIT 1) AS at_us
      UNION ALL
      SELECT max(last_heartbeat_us) FROM worker
      UNION ALL
      SELECT max(updated_us) FROM held) times
