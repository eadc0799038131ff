-- Deletes rows of the log older than $1, up to $2. Reads the primary key from its beginning.
-- @changes
DELETE FROM log
WHERE (xid, seq) IN (SELECT o.xid, o.seq
                     FROM (SELECT xid, seq, at_us FROM log ORDER BY xid, seq LIMIT $2) o
                     WHERE o.at_us < $1)
RETURNING xid::text::bigint, seq
