-- What is set aside, with its reasons, up to ?1 items. Reads the table whole.
SELECT kind, key, name, reason, at_us, until_us, tries FROM set_aside ORDER BY kind, key LIMIT ?1
