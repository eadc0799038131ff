-- Whether the index by rank and id exists; created if it is missing.
SELECT index_ready()::integer
