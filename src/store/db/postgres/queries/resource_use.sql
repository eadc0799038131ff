-- How many permits are taken. Runs after resource_lock has returned: it needs a newer snapshot.
-- @many rows
SELECT p.n, (SELECT count(*) FROM hold h WHERE h.resource = p.id)
FROM unnest($1::bigint[]) WITH ORDINALITY AS p (id, n)
