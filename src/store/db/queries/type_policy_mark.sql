-- Counts a change of policies, so that every node reads them again. One row.
-- @changes
UPDATE type_policy_generation SET n = n + 1
