-- A lane with the next number.
INSERT INTO lane (namespace, type, resources) VALUES (?1, ?2, ?3)
