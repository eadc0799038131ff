-- Makes the partitions of the coming days; nearly always they are there.
SELECT make_partitions(7)
