-- Decides that what was not committed by now never is, and gives the number that the row has then.
-- It is $2; or the one before it, when that was committed just now by a transaction whose row
-- nobody could see before.
INSERT INTO proof AS p (writer, number, at_us) VALUES ($1::text, $2::bigint, clock_us())
ON CONFLICT (writer) DO UPDATE
    SET number = CASE p.number WHEN $2::bigint - 1 THEN p.number ELSE excluded.number END,
        at_us = excluded.at_us
RETURNING number
