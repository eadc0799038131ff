-- Tokens of the HTTP interface: hashes only, never the tokens themselves.
--
-- The table has one row for each token; the server reads all of it. Times are microseconds since
-- 1970.

CREATE TABLE IF NOT EXISTS token (
    id         text PRIMARY KEY,
    name       text NOT NULL,
    hash       text NOT NULL UNIQUE, -- SHA-256 of the token, in hexadecimal
    scopes     bigint NOT NULL,      -- set: 1 read, 2 submit, 4 work, 8 admin
    namespaces text,                 -- JSON array of names; null: all
    created_us bigint NOT NULL,
    expires_us bigint                -- null: never
);
