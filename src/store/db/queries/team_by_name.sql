-- One team, by its unique name.
SELECT id FROM team WHERE namespace = ?1 AND name = ?2
