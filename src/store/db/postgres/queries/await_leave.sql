-- A node waits for nothing any more.
DELETE FROM awaited WHERE node = $1::text
