-- Tasks whose lease is over, locked for us. Reads `held` whole: as many rows as tasks under way.
SELECT id FROM held WHERE lease_us <= $1 ORDER BY lease_us LIMIT $2 FOR UPDATE SKIP LOCKED
