-- Puts a plain task that nobody has touched in line, or a run of them (runs.h): every column but
-- the key and the run is null.
INSERT INTO ready (lane, rank, id, run) VALUES (?1, ?2, ?3, ?4)
