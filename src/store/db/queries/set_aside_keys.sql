-- What is set aside, up to ?1 items. Reads the table whole: it is empty, but for damage.
SELECT kind, key, until_us, tries FROM set_aside ORDER BY kind, key LIMIT ?1
