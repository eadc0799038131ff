-- The types, services and namespaces of live workers: with a heartbeat after ?1, or that claimed
-- and are alive at ?2, or hold a task with a lease that is valid then. Reads all of worker and
-- claimer, which are small, and of held, which has only tasks that workers hold.
SELECT types, services, namespaces FROM worker WHERE last_heartbeat_us > ?1 AND pool_size >= 0
UNION ALL
SELECT c.types, c.services, c.namespaces FROM claimer c
WHERE c.until_us > ?2
   OR EXISTS (SELECT 1 FROM held h
              WHERE h.worker = c.worker AND (h.lease_us IS NULL OR h.lease_us > ?2))
