-- Parked tasks whose time has come, earliest first, locked for us. Index parked_at.
SELECT id FROM parked WHERE at_us <= $1 ORDER BY at_us LIMIT $2 FOR UPDATE SKIP LOCKED
