-- Removes a team. Its tasks keep the id, and show null from now on.
DELETE FROM team WHERE id = ?1
