-- After a step of the clock back to ?1: lets schedules compute their next time again. Reads a part
-- of index cron_next.
UPDATE cron SET next_us = ?1 WHERE next_us > ?1
