-- All teams.
SELECT id, namespace, name, spec, created_us, updated_us FROM team
