-- Drops a day that is unchanged since it was read: its range of ids ($1, $2), its number of tasks,
-- and the sum of their versions. Locks tables until the commit; see drop_day.
SELECT drop_day($1::bigint, $2::bigint, $3::bigint, $4::bigint)::int::bigint
