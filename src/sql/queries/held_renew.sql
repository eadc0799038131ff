-- Renews the lease of a task that this worker holds by this fence (0: by any), and gives its id;
-- with ?6 a later end stays. Nothing but the lease changes. Primary key.
UPDATE held
SET lease_us = CASE WHEN ?6 = 1 AND lease_us > ?5 THEN lease_us ELSE ?5 END
WHERE id = ?1 AND tail = ?2 AND worker = ?3 AND (?4 = 0 OR fence = ?4)
RETURNING id, lease_us
