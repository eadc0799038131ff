-- The items set aside, up to ?1. Reads the whole table, which is empty unless data is damaged.
SELECT kind, key, until_us, tries FROM set_aside ORDER BY kind, key LIMIT ?1
