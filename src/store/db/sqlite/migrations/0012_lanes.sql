-- A lane without tasks is removed. Deleted tasks, which are not counted, are found by this index.
CREATE INDEX ended_deleted ON ended (lane) WHERE deleted_us IS NOT NULL;
