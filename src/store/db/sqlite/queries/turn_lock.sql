-- The greatest turn of a lane and rank, and the place of the next new group. Primary key.
SELECT last, phase FROM group_turn WHERE lane = ?1 AND rank = ?2 AND name = ''
