-- Deletes the lanes without tasks among those with these ids, and returns them.
SELECT remove_empty_lanes($1::bigint, $2::bigint)
