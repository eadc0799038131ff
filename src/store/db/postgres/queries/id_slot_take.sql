-- Takes the keys from $1 up to $2, of a slot whose last range ends before them: $3 if it is free,
-- else the next free one. Without a $3 (-1) the search begins at node_slot, as in earlier versions.
-- No row: all slots are taken.
-- @changes
WITH first AS MATERIALIZED (
    SELECT CASE WHEN $3::bigint >= 0 THEN $3::bigint ELSE nextval('node_slot') END AS slot),
free AS (
    SELECT s.slot FROM id_slot s CROSS JOIN first
    WHERE s.upto <= $1::bigint
    ORDER BY (s.slot - first.slot + 63) % 63
    LIMIT 1
    FOR UPDATE OF s SKIP LOCKED)
UPDATE id_slot SET upto = $2::bigint FROM free WHERE id_slot.slot = free.slot
RETURNING id_slot.slot::bigint
