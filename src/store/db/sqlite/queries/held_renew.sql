-- Renews the lease of a task that this worker holds with this fence (0: any), and returns its id.
-- The new lease lasts ?6; when that is 0, as long as the claim's or else ?7, and never ends earlier
-- than before, nor after the attempt has timed out. ?5 is now.
-- Nothing but the lease changes. Primary key.
UPDATE held
SET lease_us = min(coalesce(deadline_us, 1 << 62), CASE WHEN ?6 > 0 THEN ?5 + ?6
                    WHEN (flags & ((1 << 60) - 1)) >> 31 > 0
                    THEN max(lease_us, ?5 + ((flags & ((1 << 60) - 1)) >> 31) * 1000)
                    ELSE max(lease_us, ?5 + ?7) END)
WHERE id = ?1 AND tail = ?2 AND worker = ?3 AND (?4 = 0 OR fence = ?4)
RETURNING id, lease_us
