-- A new lane.
-- @repeat
INSERT INTO lane (id, namespace, type, resources) VALUES (?1, ?2, ?3, ?4)
