-- The greatest id below ?1, after which new ids continue. No id of this program is above ?1.
SELECT max(id) FROM task WHERE id < ?1
