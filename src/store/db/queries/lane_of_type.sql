-- The lanes of a type in a namespace.
SELECT id, namespace, type, resources FROM lane WHERE namespace = ?1 AND type = ?2
