-- Stores a timer. Primary key.
INSERT INTO timer (at_us, task, kind) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING
