-- A live worker handles a lane again, or it has no ready tasks. Primary key.
-- @changes
DELETE FROM unhandled WHERE lane = ?1
