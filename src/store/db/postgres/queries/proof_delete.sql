-- Deletes the row of a writer, and the rows that have not changed for a day.
-- @changes
DELETE FROM proof WHERE writer = $1::text OR at_us < clock_us() - 86400000000
