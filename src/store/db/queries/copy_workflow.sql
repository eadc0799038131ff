-- All workflows.
SELECT namespace, name, version, definition, enabled, updated_us FROM workflow
