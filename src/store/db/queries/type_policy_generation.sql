-- The number of the last change of policies. One row.
SELECT n FROM type_policy_generation
