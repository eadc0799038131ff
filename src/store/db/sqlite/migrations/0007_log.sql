-- The log without a table beside it that remembers its last number: the newest row is always kept
-- (log_forget), so one more than the greatest is new. Each commit writes one page less.

CREATE TABLE log_kept AS SELECT seq, at_us, events FROM log;
-- The newest has been forgotten: a row without events keeps its number.
INSERT INTO log_kept
SELECT seq, 0, '' FROM sqlite_sequence
WHERE name = 'log' AND seq > coalesce((SELECT max(seq) FROM log), 0);
DROP TABLE log;
CREATE TABLE log (
    seq    INTEGER PRIMARY KEY,
    at_us  INTEGER NOT NULL,
    events TEXT NOT NULL
);
INSERT INTO log SELECT seq, at_us, events FROM log_kept;
DROP TABLE log_kept;
