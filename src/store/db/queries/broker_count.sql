-- Counts messages that no queue was bound for, and rows that were dropped. One row.
-- @changes
UPDATE broker SET unroutable = unroutable + ?1, dropped = dropped + ?2
