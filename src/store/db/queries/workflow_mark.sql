-- Counts a change of definitions, so that every node loads them again. One row.
-- @changes
UPDATE workflow_generation SET n = n + 1
