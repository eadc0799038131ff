-- Puts a task in line that nobody has touched, or a run of them (runs.h): of how it stands, only
-- what it was born with is not null, and for a plain one not even that.
INSERT INTO ready (lane, rank, id, version, flags, run) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
