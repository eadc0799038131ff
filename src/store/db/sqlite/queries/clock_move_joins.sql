-- The same for the deadlines of joins. Reads index join_deadline.
UPDATE join_state SET deadline_us = deadline_us + ?1 WHERE deadline_us IS NOT NULL
