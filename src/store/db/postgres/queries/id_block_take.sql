-- $1 keys of the sequence that submit in SQL uses, not before the time $2: the first of them.
SELECT submit_keys($1::integer, $2::bigint)
