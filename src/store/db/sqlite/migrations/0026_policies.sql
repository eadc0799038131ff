-- How long an attempt may run, and when a task must have started.

ALTER TABLE task ADD COLUMN timeout_ms INTEGER;  -- of an attempt; null: that of its type
ALTER TABLE task ADD COLUMN start_by_us INTEGER; -- it expires if it has not started by then
ALTER TABLE held ADD COLUMN deadline_us INTEGER; -- when the attempt has timed out; null: never

-- When the engine must look at a task that no other table has a time for. Kind 0: start_by_us.
CREATE TABLE timer (
    at_us INTEGER NOT NULL,
    task  INTEGER NOT NULL,
    kind  INTEGER NOT NULL,
    PRIMARY KEY (at_us, task, kind)
) WITHOUT ROWID;
