-- Deletes a ready task, by primary key.
DELETE FROM ready WHERE lane = ?1 AND rank = ?2 AND id = ?3
