-- How many items are set aside. Reads the table whole: it is empty, but for damage.
SELECT count(*) FROM set_aside
