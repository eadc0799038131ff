-- Whether this node leads; if so, no other node can lead before the transaction ends.
SELECT epoch FROM leader
WHERE holder = $1::text AND epoch = $2::bigint AND until_us > clock_us()
FOR SHARE
