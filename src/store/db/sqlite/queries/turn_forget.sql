-- Removes up to ?4 groups whose last turn is not after ?3: another task of them would get the same
-- turn as one of a new group. Index group_turn_last.
DELETE FROM group_turn
WHERE (lane, rank, name) IN (SELECT lane, rank, name FROM group_turn
                             WHERE lane = ?1 AND rank = ?2 AND last <= ?3 AND name <> ''
                             ORDER BY last LIMIT ?4)
