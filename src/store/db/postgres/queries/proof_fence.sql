-- Decides that a transaction which is not committed by now never will be, and returns the number of
-- the row: $2, or the one before it when that was committed just now by a transaction whose row was
-- not visible before.
-- @changes
INSERT INTO proof AS p (writer, number, at_us) VALUES ($1::text, $2::bigint, clock_us())
ON CONFLICT (writer) DO UPDATE
    SET number = CASE p.number WHEN $2::bigint - 1 THEN p.number ELSE excluded.number END,
        at_us = excluded.at_us
RETURNING number
