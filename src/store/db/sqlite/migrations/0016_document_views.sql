-- Views with the tables of document 003.
--
-- task_joins has a row for each task that a join has collected in its present round; the view of
-- rounds is join_rounds. The first bits of an id are the key of the task: task_joins computes it
-- from the text.

DROP VIEW task_joins;

CREATE VIEW join_rounds AS
    SELECT namespace, workflow, name AS join_name, key, round, members,
           strftime('%Y-%m-%dT%H:%M:%fZ', updated_us / 1e6, 'unixepoch') AS updated_at,
           strftime('%Y-%m-%dT%H:%M:%fZ', deadline_us / 1e6, 'unixepoch') AS deadline,
           last_outcome, last_task, last_error
    FROM join_state;

CREATE VIEW join_members AS
    SELECT s.namespace, s.workflow, s.name, s.key, s.round, m.key AS type,
           json_extract(m.value, '$.id') AS id, json_extract(m.value, '$.status') AS status
    FROM join_state s, json_each(CASE WHEN json_valid(s.members) THEN s.members ELSE '{}' END) m
    WHERE m.type = 'object';

CREATE VIEW task_joins AS
    SELECT CAST(CASE WHEN json_valid(m.key) THEN json_extract(m.key, '$') ELSE m.key END AS TEXT)
               AS join_key,
           m.workflow AS workflow_id, m.type AS task_type, m.id AS task_id,
           strftime('%Y-%m-%dT%H:%M:%fZ', e.completed_us / 1e6, 'unixepoch') AS completed_at,
           m.status, m.namespace, m.name AS join_name, m.round
    FROM join_members m
    LEFT JOIN ended e ON e.id =
        ((instr('0123456789abcdef', substr(m.id, 1, 1)) - 1) << 56) +
        ((instr('0123456789abcdef', substr(m.id, 2, 1)) - 1) << 52) +
        ((instr('0123456789abcdef', substr(m.id, 3, 1)) - 1) << 48) +
        ((instr('0123456789abcdef', substr(m.id, 4, 1)) - 1) << 44) +
        ((instr('0123456789abcdef', substr(m.id, 5, 1)) - 1) << 40) +
        ((instr('0123456789abcdef', substr(m.id, 6, 1)) - 1) << 36) +
        ((instr('0123456789abcdef', substr(m.id, 7, 1)) - 1) << 32) +
        ((instr('0123456789abcdef', substr(m.id, 8, 1)) - 1) << 28) +
        ((instr('0123456789abcdef', substr(m.id, 10, 1)) - 1) << 24) +
        ((instr('0123456789abcdef', substr(m.id, 11, 1)) - 1) << 20) +
        ((instr('0123456789abcdef', substr(m.id, 12, 1)) - 1) << 16) +
        ((instr('0123456789abcdef', substr(m.id, 13, 1)) - 1) << 12) +
        ((instr('0123456789abcdef', substr(m.id, 16, 1)) - 1) << 8) +
        ((instr('0123456789abcdef', substr(m.id, 17, 1)) - 1) << 4) +
        ((instr('0123456789abcdef', substr(m.id, 18, 1)) - 1) << 0);

CREATE VIEW task_task_dep AS
    SELECT t.uuid AS task_id, n.uuid AS depends_on
    FROM task_dep d JOIN task_id t ON t.id = d.task JOIN task_id n ON n.id = d.needs
    UNION ALL
    SELECT p.uuid, u.uuid
    FROM task c JOIN task_id u ON u.id = c.id JOIN task_id p ON p.id = c.parent
    WHERE c.parent IS NOT NULL;

CREATE VIEW task_resource AS
    SELECT id, name, max_concurrency FROM resource;

CREATE VIEW task_resource_dep AS
    SELECT u.uuid AS task_id, r.id AS depends_on
    FROM lane l
    JOIN json_each(CASE WHEN json_valid(l.resources) THEN l.resources ELSE '[]' END) n
    JOIN resource r ON r.name = n.value COLLATE NOCASE
    JOIN task t ON t.lane = l.id
    JOIN task_id u ON u.id = t.id;

CREATE VIEW node AS
    SELECT id, hostname,
           strftime('%Y-%m-%dT%H:%M:%fZ', last_heartbeat_us / 1e6, 'unixepoch') AS last_seen
    FROM worker;
