-- Whether there is an index by rank and id; made when it isn't there.
SELECT index_ready()::integer
