-- Updates a parked task. Primary key.
UPDATE parked
SET status = ?3, at_us = ?4, version = ?5, fence = ?6, attempts = ?7, flags = ?8, deps_left = ?9,
    deps_bad = ?10, progress = ?11, updated_us = ?12, claimed_us = ?13, started_us = ?14,
    state = ?15, error = ?16, metadata = ?17
WHERE id = ?1
