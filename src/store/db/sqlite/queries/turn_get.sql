-- The last turn of a group. Primary key.
SELECT last FROM group_turn WHERE lane = ?1 AND rank = ?2 AND name = ?3
