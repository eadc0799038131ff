-- The lanes of a namespace.
SELECT id, namespace, type, resources FROM lane WHERE namespace = ?1
