-- The greatest id below ?1, beyond which no id of this program is: where new ones go on.
SELECT max(id) FROM task WHERE id < ?1
