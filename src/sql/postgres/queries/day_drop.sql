-- Drops a day that is still as it was when it was read: its range of ids ($1, $2), how many tasks
-- it had, and their versions. Locks tables until the commit; see drop_day.
SELECT drop_day($1::bigint, $2::bigint, $3::bigint, $4::bigint)::int::bigint
