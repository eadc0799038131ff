-- Tells everybody that definitions have changed. One row.
UPDATE workflow_generation SET n = n + 1
