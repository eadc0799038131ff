-- How many permits are taken. Asked after resource_lock was answered: it needs a newer view.
SELECT p.n, (SELECT count(*) FROM hold h WHERE h.resource = p.id)
FROM unnest($1::bigint[]) WITH ORDINALITY AS p (id, n)
