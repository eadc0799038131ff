-- A worker belongs to the namespaces of the token that registered it.
--
-- To apply it by hand: SET search_path to the schema, then run the file. Twice does no harm.

-- JSON array of names; null: all.
ALTER TABLE worker ADD COLUMN IF NOT EXISTS namespaces text;

-- A task keeps which token submitted it, of tokens that may cancel only what they submitted: the
-- first 60 bits of the token's id; null: none.
ALTER TABLE task ADD COLUMN IF NOT EXISTS submitter bigint;
