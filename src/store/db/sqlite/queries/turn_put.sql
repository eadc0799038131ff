-- Stores the last turn of a group, or of a lane and rank. Primary key.
INSERT INTO group_turn (lane, rank, name, last, phase) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (lane, rank, name) DO UPDATE SET last = excluded.last, phase = excluded.phase
