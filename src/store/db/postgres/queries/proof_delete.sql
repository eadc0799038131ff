-- A writer has ended; and so have those that were not heard of for a day.
DELETE FROM proof WHERE writer = $1::text OR at_us < clock_us() - 86400000000
