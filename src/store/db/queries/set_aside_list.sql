-- The items set aside, with reasons, up to ?1. Reads the whole table.
SELECT kind, key, name, reason, at_us, until_us, tries FROM set_aside ORDER BY kind, key LIMIT ?1
