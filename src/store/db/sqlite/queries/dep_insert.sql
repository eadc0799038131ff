-- One task needs another. Naming it twice is naming it once.
INSERT OR IGNORE INTO task_dep (task, needs) VALUES (?1, ?2)
