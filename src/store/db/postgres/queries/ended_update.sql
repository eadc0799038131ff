-- Updates ended tasks. Their output is not changed. Primary key.
-- @changes
-- @many rows
UPDATE ended s
SET version = p.version, flags = p.flags, updated_us = p.updated_us, deleted_us = p.deleted_us
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
     AS p (id, version, flags, updated_us, deleted_us)
WHERE s.id = p.id
