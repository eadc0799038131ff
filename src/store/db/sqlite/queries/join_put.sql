-- Updates the state of a join for a key. Primary key.
UPDATE join_state
SET round = ?5, members = ?6, deadline_us = ?7, last_outcome = coalesce(?8, last_outcome),
    last_task = CASE WHEN ?8 IS NULL THEN last_task ELSE ?9 END,
    last_error = CASE WHEN ?8 IS NULL THEN last_error ELSE ?10 END
WHERE namespace = ?1 AND workflow = ?2 AND name = ?3 AND key = ?4
