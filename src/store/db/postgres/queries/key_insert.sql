-- Takes keys. The second insert of a key waits for the first and fails: the batch is run again and
-- finds the key.
-- @changes
-- @many rows
INSERT INTO task_key (hash, task, more)
SELECT hash, task, more
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[])
     AS p (hash, task, more)
