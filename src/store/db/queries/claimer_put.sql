-- Records that a worker claims tasks. Primary key.
-- @changes
INSERT INTO claimer (worker, types, services, namespaces, until_us) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (worker) DO UPDATE SET
    types = excluded.types, services = excluded.services, namespaces = excluded.namespaces,
    until_us = excluded.until_us
