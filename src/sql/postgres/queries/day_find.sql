-- The oldest day of which nothing is wanted any more, if there is one; see old_day. $1, $2: when
-- tasks must have ended, those that completed and the others.
SELECT low, high, tasks, versions FROM old_day($1::bigint, $2::bigint)
