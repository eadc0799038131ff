-- One team, by primary key.
SELECT id, namespace, name, spec, created_us, updated_us FROM team WHERE id = ?1
