-- Renews the leases of tasks that a worker holds by these fences (0: by any), and gives their ids;
-- where $6 is 1 a later end stays. Nothing but the lease changes. Primary key; the update is HOT. A
-- task that is named twice is renewed once and answered twice.
WITH p AS (
    SELECT id, tail, worker, max(until_us) AS until_us, min(at_least) AS at_least,
           array_agg(fence) AS fences, array_agg(n) AS numbers
    FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[])
         WITH ORDINALITY AS a (id, tail, worker, fence, until_us, at_least, n)
    GROUP BY id, tail, worker
), renewed AS (
    UPDATE held s
    SET lease_us = CASE WHEN p.at_least = 1 AND s.lease_us > p.until_us THEN s.lease_us
                        ELSE p.until_us END
    FROM p
    WHERE s.id = p.id AND s.tail = p.tail AND s.worker = p.worker
      AND (0 = ANY (p.fences) OR s.fence = ANY (p.fences))
    RETURNING s.id, s.fence, s.lease_us, p.fences, p.numbers
)
SELECT a.n, r.id, r.lease_us
FROM renewed r
CROSS JOIN LATERAL unnest(r.fences, r.numbers) AS a (fence, n)
WHERE a.fence = 0 OR a.fence = r.fence
ORDER BY a.n
