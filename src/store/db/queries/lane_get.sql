-- One lane, by primary key.
SELECT id, namespace, type, resources FROM lane WHERE id = ?1
