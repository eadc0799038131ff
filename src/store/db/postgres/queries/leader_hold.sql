-- Becomes the leader when there is none, or renews the lease; returns the epoch (null: another node
-- leads) and the clock. Each new term has a new epoch, also of the same holder.
-- @changes
WITH lead AS (
    INSERT INTO leader (holder, epoch, until_us, version)
    VALUES ($1::text, 1, clock_us() + $2::bigint, $3::text)
    ON CONFLICT (one) DO UPDATE
    SET holder = excluded.holder, until_us = excluded.until_us, version = excluded.version,
        epoch = leader.epoch + CASE WHEN leader.holder = excluded.holder
                                         AND leader.until_us > clock_us() THEN 0 ELSE 1 END
    WHERE leader.holder = excluded.holder OR leader.until_us <= clock_us()
    RETURNING epoch)
SELECT (SELECT epoch FROM lead), clock_us()
