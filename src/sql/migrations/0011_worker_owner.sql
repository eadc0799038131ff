-- A worker belongs to the namespaces of the token that registered it.

ALTER TABLE worker ADD COLUMN namespaces TEXT; -- JSON array of names; null: all
