-- Stores a row of the history; one that is there already stays as it is. Primary key.
INSERT INTO history (seq, at_us, namespace, type, submitted, completed, failed, dead_letter,
                     cancelled, retried, waits, runs, waiting, running, oldest_ms)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
ON CONFLICT DO NOTHING
