-- Tasks that are not in exactly one of the four status tables, rows there without a task or with
-- another lane than it, and runs in `ready` with foreign tasks among them (runs.h). Reads whole
-- tables.
SELECT (SELECT count(*) FROM (
            SELECT t.id FROM task t LEFT JOIN task_standing s ON s.id = t.id
            GROUP BY t.id HAVING count(s.id) <> 1))
     + (SELECT count(*) FROM task_standing s
        WHERE NOT EXISTS (SELECT 1 FROM task t WHERE t.id = s.id AND t.lane = s.lane))
     + (SELECT count(*) FROM ready r
        WHERE r.run IS NOT NULL
          AND CASE WHEN json_valid(r.run) THEN nullif(json_array_length(r.run), 0) END
              IS NOT (SELECT count(*) FROM task t
                      WHERE t.id BETWEEN r.id AND r.id + CASE WHEN json_valid(r.run) THEN
                                                             json_extract(r.run, '$[#-1]') END
                        AND t.lane = r.lane AND t.rank = r.rank))
