-- When the next lease ends. Reads `held` whole.
SELECT min(lease_us) FROM held
