-- Joins that have waited long enough, but for those of disabled workflows. Index join_deadline, and
-- the primary key of workflow.
SELECT namespace, workflow, name, key FROM join_state
WHERE deadline_us <= ?1
    AND NOT EXISTS (SELECT 1 FROM workflow w
                    WHERE w.namespace = join_state.namespace AND w.name = join_state.workflow
                        AND w.enabled = 0)
ORDER BY deadline_us
LIMIT ?2
