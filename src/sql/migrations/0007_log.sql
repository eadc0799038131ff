-- The log without a table beside it that remembers its last number: the newest row is always kept
-- (log_forget), so one more than the greatest is new. Each commit writes one page less.

CREATE TABLE log_anew (
    seq    INTEGER PRIMARY KEY,
    at_us  INTEGER NOT NULL,
    events TEXT NOT NULL
);
INSERT INTO log_anew SELECT seq, at_us, events FROM log;
-- All has been forgotten: a row without events keeps the number.
INSERT INTO log_anew
SELECT seq, 0, '' FROM sqlite_sequence WHERE name = 'log' AND NOT EXISTS (SELECT 1 FROM log);
DROP TABLE log;
ALTER TABLE log_anew RENAME TO log;
