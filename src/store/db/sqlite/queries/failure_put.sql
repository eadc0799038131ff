-- Counts failures of a group. The tasks that failed last come first. Primary key.
INSERT INTO failure_group (id, namespace, type, kind, message, count, first_us, last_us, tasks)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT (id) DO UPDATE SET
    count = failure_group.count + excluded.count,
    last_us = max(failure_group.last_us, excluded.last_us),
    tasks = substr(excluded.tasks || failure_group.tasks, 1, 740)
