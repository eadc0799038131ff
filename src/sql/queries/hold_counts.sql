-- Permits taken, by resource.
SELECT resource, count(*) FROM hold GROUP BY resource
