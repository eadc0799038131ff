-- How many lanes a namespace has, and how many a type of it, up to a limit each. Indexes lane_name
-- and lane_folded.
SELECT (SELECT count(*) FROM (SELECT 1 FROM lane WHERE namespace = $1::text LIMIT $3::bigint) a),
       (SELECT count(*) FROM (SELECT 1 FROM lane WHERE namespace = $1::text
                              AND lower(type COLLATE "C") = lower($2::text COLLATE "C")
                              LIMIT $4::bigint) b)
