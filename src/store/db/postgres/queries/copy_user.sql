-- The leader, if there is one: the store is open.
SELECT holder FROM leader WHERE until_us > clock_us()
