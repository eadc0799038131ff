-- Tasks that don't stand in exactly one of the four tables, rows there that have no task or another
-- lane than it, and runs in line that have strangers in their midst (runs.h). Reads everything.
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
