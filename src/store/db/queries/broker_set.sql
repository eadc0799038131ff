-- Switches the outbox on or off; null: the limit stays as it is. One row.
-- @changes
UPDATE broker SET is_on = ?1, size_max = coalesce(?2, size_max)
