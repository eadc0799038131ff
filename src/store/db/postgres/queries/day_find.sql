-- The oldest day that has expired, if there is one; see old_day. $1, $2: when completed tasks and
-- the others must have ended.
SELECT low, high, tasks, versions FROM old_day($1::bigint, $2::bigint)
