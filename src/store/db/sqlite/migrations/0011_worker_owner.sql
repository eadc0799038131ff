-- A worker belongs to the namespaces of the token that registered it.

ALTER TABLE worker ADD COLUMN namespaces TEXT; -- JSON array of names; null: all

-- A task keeps which token submitted it, of tokens that may cancel only what they submitted.

ALTER TABLE task ADD COLUMN submitter INTEGER; -- first 60 bits of the token's id; null: none
