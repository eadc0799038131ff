-- Renews the leases of tasks that a worker holds by these fences (0: by any), and gives their ids;
-- where $6 is 1 a later end stays. Nothing but the lease changes. Primary key; the update is HOT. A
-- task that is named twice is renewed once and answered twice.
WITH p AS (
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[],
                         $6::bigint[])
                  WITH ORDINALITY AS p (id, tail, worker, fence, until_us, at_least, n)
), renewed AS (
    UPDATE held s
    SET lease_us = CASE WHEN p.at_least = 1 AND s.lease_us > p.until_us THEN s.lease_us
                        ELSE p.until_us END
    FROM p
    WHERE s.id = p.id AND s.tail = p.tail AND s.worker = p.worker
      AND (p.fence = 0 OR s.fence = p.fence)
    RETURNING s.id, s.tail, s.fence, s.lease_us
)
SELECT p.n, r.id, r.lease_us
FROM p
JOIN renewed r ON r.id = p.id AND r.tail = p.tail AND (p.fence = 0 OR r.fence = p.fence)
