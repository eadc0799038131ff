-- A new lane.
INSERT INTO lane (id, namespace, type, resources) VALUES (?1, ?2, ?3, ?4)
