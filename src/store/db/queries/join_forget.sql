-- Deletes joins between two rounds that got no event since ?1. Index join_idle.
-- @changes
DELETE FROM join_state WHERE members = '{}' AND updated_us < ?1
