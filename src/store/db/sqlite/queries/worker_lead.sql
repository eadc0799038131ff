-- No worker leads but those of the node ?1. Reads all of `worker`: a small table.
UPDATE worker SET is_leader = 0, leader_until_us = NULL WHERE is_leader = 1 AND node IS NOT ?1
