-- Rates of resources: rate_count starts in rate_per_ms; null: no rate. The bucket has rate_burst
-- tokens at most. At rate_us (null: never), rate_spent millionths of tokens were missing in it.

ALTER TABLE resource ADD COLUMN rate_count INTEGER;
ALTER TABLE resource ADD COLUMN rate_per_ms INTEGER;
ALTER TABLE resource ADD COLUMN rate_burst INTEGER;
ALTER TABLE resource ADD COLUMN rate_spent INTEGER;
ALTER TABLE resource ADD COLUMN rate_us INTEGER;

-- Names that set the limits of other resources (resource_prefixes.sql).
CREATE INDEX resource_prefix ON resource (name)
WHERE is_set <> 0 AND name LIKE '%*';
