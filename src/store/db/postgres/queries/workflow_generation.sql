-- The number of the last change of definitions. One row.
SELECT n FROM workflow_generation
