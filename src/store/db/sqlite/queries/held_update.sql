-- Updates a held task. Primary key. Its lane changes when it was released with more resources and
-- claimed again in one transaction.
UPDATE held
SET lane = ?3, status = ?5, version = ?6, fence = ?7, attempts = ?8, flags = ?9,
    progress = ?10, updated_us = ?11, claimed_us = ?12, started_us = ?13, lease_us = ?14,
    worker = ?15, state = ?16, error = ?17, metadata = ?18, deadline_us = ?19
WHERE id = ?1
