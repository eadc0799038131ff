-- Makes the partitions of the coming days; nearly always they are there. By itself, never inside a
-- transaction that waits for us: it locks tables.
SELECT make_partitions(7)
