-- When the next parked task is due. The first entry of index parked_at.
SELECT min(at_us) FROM parked WHERE at_us IS NOT NULL
