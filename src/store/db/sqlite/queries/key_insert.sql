-- Takes a key. Primary key.
INSERT INTO task_key (hash, task) VALUES (?1, ?2)
