-- Takes a permit.
INSERT INTO hold (resource, task) VALUES (?1, ?2)
