-- Makes a node the publisher until ?3, or renews that, unless another node is. One row.
-- @changes
UPDATE broker SET publisher = ?1, until_us = ?3
WHERE publisher IS NULL OR publisher = ?1 OR until_us <= ?2
