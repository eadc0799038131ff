-- Roles that can write to the schema's tables, make objects in it or run its inner functions: one
-- sentence for each. Such a role can stop the engine. The owner, its members and superusers are
-- left out.
WITH us AS (
    SELECT n.oid AS schema, n.nspname, n.nspacl, n.nspowner,
           (SELECT relowner FROM pg_class WHERE oid = 'task'::regclass) AS owner
    FROM pg_namespace n WHERE n.nspname = current_schema()),
given (grantee, what, name) AS (
    SELECT a.grantee, 'write to', c.relname
    FROM us JOIN pg_class c ON c.relnamespace = us.schema
    CROSS JOIN aclexplode(c.relacl) AS a
    WHERE a.privilege_type <> 'SELECT' AND NOT (c.relkind = 'S' AND a.privilege_type = 'USAGE')
    UNION
    SELECT a.grantee, 'write to', c.relname
    FROM us JOIN pg_class c ON c.relnamespace = us.schema
    JOIN pg_attribute t ON t.attrelid = c.oid
    CROSS JOIN aclexplode(t.attacl) AS a
    WHERE a.privilege_type <> 'SELECT'
    UNION
    SELECT a.grantee, 'call nextval on', c.relname
    FROM us JOIN pg_class c ON c.relnamespace = us.schema
    CROSS JOIN aclexplode(c.relacl) AS a
    WHERE c.relkind = 'S' AND a.privilege_type = 'USAGE'
    UNION
    SELECT a.grantee, 'make objects in', us.nspname
    FROM us CROSS JOIN aclexplode(us.nspacl) AS a
    WHERE a.privilege_type = 'CREATE' AND a.grantee <> us.nspowner
    UNION
    SELECT a.grantee, 'execute', p.proname
    FROM us JOIN pg_proc p ON p.pronamespace = us.schema
    CROSS JOIN aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a
    WHERE p.proname <> ALL (submit_functions() || read_functions()) AND p.proowner = us.owner)
SELECT format('%s can %s %s%s, and could stop the engine: REVOKE that, and see grant_submit in '
              'docs/postgres.md',
              coalesce('role ' || r.rolname, 'every role'), g.what,
              array_to_string((array_agg(g.name ORDER BY g.name))[1:3], ', '),
              CASE WHEN count(*) > 3 THEN format(' and %s more', count(*) - 3) END)
FROM given g CROSS JOIN us LEFT JOIN pg_roles r ON r.oid = g.grantee
WHERE g.grantee = 0 OR NOT pg_has_role(g.grantee, us.owner, 'USAGE')
GROUP BY r.rolname, g.what
ORDER BY r.rolname, g.what
