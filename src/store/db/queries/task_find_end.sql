-- Ids among the newest ?1 whose halves have the bits ?3 and ?5 under the masks ?2 and ?4. The
-- primary key; reads ?1 rows.
SELECT n.id FROM (SELECT id, tail FROM task ORDER BY id DESC LIMIT ?1) n
WHERE n.id & ?2 = ?3 AND n.tail & ?4 = ?5
LIMIT ?6
