-- Proves that a transaction was committed: stores its number in the row of its writer. When the
-- number before it is not $3, the transaction was fenced off (proof_fence), and the statement fails
-- with a division by zero.
-- @changes
INSERT INTO proof AS p (writer, number, at_us)
VALUES ($1::text, $2::bigint, $4::bigint)
ON CONFLICT (writer) DO UPDATE
SET number = excluded.number / (p.number = $3::bigint)::integer, at_us = excluded.at_us
