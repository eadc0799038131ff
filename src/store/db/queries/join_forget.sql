-- Forgets joins between two rounds that nothing came for since ?1. Index join_idle.
DELETE FROM join_state WHERE members = '{}' AND updated_us < ?1
