-- When the next join reaches its deadline, except those of disabled workflows and those set aside
-- until after ?1. Index join_deadline, and the primary keys of workflow and set_aside.
SELECT deadline_us FROM join_state
WHERE deadline_us IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM workflow w
                    WHERE w.namespace = join_state.namespace AND w.name = join_state.workflow
                        AND w.enabled = 0)
    AND NOT EXISTS (SELECT 1 FROM set_aside s
                    WHERE s.kind = 'join'
                        AND s.key = join_state.namespace || '/' || join_state.workflow || '/' ||
                                    join_state.name || '/' || join_state.key
                        AND s.until_us > ?1)
ORDER BY deadline_us
LIMIT 1
