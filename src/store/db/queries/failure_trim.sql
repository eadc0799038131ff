-- Removes the groups of a namespace beyond the first ?2, by their last failure. Index
-- failure_group_last.
-- @changes
DELETE FROM failure_group
WHERE namespace = ?1 AND last_us < (SELECT last_us FROM failure_group WHERE namespace = ?1
                                    ORDER BY last_us DESC LIMIT 1 OFFSET ?2)
