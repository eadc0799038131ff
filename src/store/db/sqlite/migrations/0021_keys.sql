-- How long a task keeps its key.
-- Null: as long as it exists; -1: until it has ended; else milliseconds since its creation.
ALTER TABLE task ADD COLUMN key_scope INTEGER;
