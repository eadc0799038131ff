-- Tokens of the HTTP interface: hashes only, never the tokens themselves.
--
-- The table has one row for each token; the server reads all of it. Times are microseconds since
-- 1970.

CREATE TABLE token (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    hash       TEXT NOT NULL UNIQUE, -- SHA-256 of the token, in hexadecimal
    scopes     INTEGER NOT NULL,     -- set: 1 read, 2 submit, 4 work, 8 admin
    namespaces TEXT,                 -- JSON array of names; null: all
    created_us INTEGER NOT NULL,
    expires_us INTEGER               -- null: never
) WITHOUT ROWID;
