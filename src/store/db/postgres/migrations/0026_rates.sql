-- Rates of resources.
--
-- rate_count starts in rate_per_ms; null: no rate. The bucket has rate_burst tokens at most. At
-- rate_us (null: never), rate_spent millionths of tokens were missing in it.
--
-- To apply it by hand: SET search_path to the schema, then run the file. Twice does no harm.

ALTER TABLE resource ADD COLUMN IF NOT EXISTS rate_count bigint;
ALTER TABLE resource ADD COLUMN IF NOT EXISTS rate_per_ms bigint;
ALTER TABLE resource ADD COLUMN IF NOT EXISTS rate_burst bigint;
ALTER TABLE resource ADD COLUMN IF NOT EXISTS rate_spent bigint;
ALTER TABLE resource ADD COLUMN IF NOT EXISTS rate_us bigint;

-- Room for the updates of a bucket in the page of its row.
ALTER TABLE resource SET (fillfactor = 50);

-- Names that set the limits of other resources (resource_prefixes.sql).
CREATE INDEX IF NOT EXISTS resource_prefix ON resource (name)
WHERE is_set <> 0 AND name LIKE '%*';

INSERT INTO schema_migrations (id, description, executed_at)
VALUES ('0026_rates', 'Rates of resources.', now())
ON CONFLICT (id) DO NOTHING;
