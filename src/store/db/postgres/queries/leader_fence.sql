-- Whether we lead; and if so, nobody else does before our transaction ends.
SELECT epoch FROM leader
WHERE holder = $1::text AND epoch = $2::bigint AND until_us > clock_us()
FOR SHARE
