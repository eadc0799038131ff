-- The turns of all groups, by primary key.
SELECT lane, rank, name, last, phase FROM group_turn ORDER BY lane, rank, name
