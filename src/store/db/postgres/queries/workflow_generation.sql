-- Whether definitions have changed. One row.
SELECT n FROM workflow_generation
