-- A worker belongs to the namespaces of the token that registered it.
--
-- To apply it by hand: SET search_path to the schema, then run the file. Twice does no harm.

-- JSON array of names; null: all.
ALTER TABLE worker ADD COLUMN IF NOT EXISTS namespaces text;
