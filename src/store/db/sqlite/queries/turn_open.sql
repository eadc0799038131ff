-- Adds the row of a lane and rank that has no turns yet.
INSERT INTO group_turn (lane, rank, name, last, phase) VALUES (?1, ?2, '', 0, 0)
ON CONFLICT (lane, rank, name) DO NOTHING
