-- The node that leads, when there is one: somebody has the store open.
SELECT holder FROM leader WHERE until_us > clock_us()
