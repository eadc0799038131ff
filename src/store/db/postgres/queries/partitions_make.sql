-- Creates the partitions of the coming days; usually they exist. Runs in a transaction of its own,
-- since it locks tables.
SELECT make_partitions(7)
