-- When the next join has waited long enough. Index join_deadline.
SELECT min(deadline_us) FROM join_state WHERE deadline_us IS NOT NULL
