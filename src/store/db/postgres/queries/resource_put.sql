-- Stores a resource's limit.
-- @changes
UPDATE resource SET max_concurrency = $3, is_set = $4::smallint
WHERE id = $1
