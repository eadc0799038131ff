-- By primary key.
DELETE FROM outbox WHERE seq = ?1
