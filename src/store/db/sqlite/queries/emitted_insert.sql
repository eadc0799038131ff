-- Keeps an event and what came of it. Who comes second with an id fails: see happened_get.
INSERT INTO happened (namespace, id, type, data, at_us, tasks, failures)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
