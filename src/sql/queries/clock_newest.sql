-- The latest time at which the engine is known to have worked: the newest row of the log, the last
-- heartbeat, the last renewal of a lease (?1: its length in microseconds where the claim set none).
-- Times that a caller chose are left out. Reads `held` and `worker` whole: small tables.
SELECT max(times.at_us)
FROM (SELECT (SELECT at_us FROM log ORDER BY seq DESC LIMIT 1) AS at_us
      UNION ALL
      SELECT max(last_heartbeat_us) FROM worker
      UNION ALL
      SELECT max(lease_us - CASE WHEN flags >> 31 > 0 THEN (flags >> 31) * 1000 ELSE ?1 END)
      FROM held) times
