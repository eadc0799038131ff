-- Deletes a team. Its tasks keep the id, which reads as null from then on.
-- @changes
DELETE FROM team WHERE id = ?1
