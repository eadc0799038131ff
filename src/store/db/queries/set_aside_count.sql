-- The number of items set aside. Reads the whole table, which is empty unless data is damaged.
SELECT count(*) FROM set_aside
