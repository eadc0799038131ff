-- How many lanes a namespace has, and how many a type of it, up to a limit each. Index lane_name.
SELECT (SELECT count(*) FROM (SELECT 1 FROM lane WHERE namespace = $1::text LIMIT $3::bigint) a),
       (SELECT count(*) FROM (SELECT 1 FROM lane WHERE namespace = $1::text AND type = $2::text
                              LIMIT $4::bigint) b)
