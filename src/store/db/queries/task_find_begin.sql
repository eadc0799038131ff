-- Ids between ?1 and ?2 whose second half has the bits ?4 under the mask ?3, newest first. The
-- primary key; the mask is 0 unless the range is one id.
SELECT id FROM task
WHERE id BETWEEN ?1 AND ?2 AND tail & ?3 = ?4
ORDER BY id DESC
LIMIT ?5
