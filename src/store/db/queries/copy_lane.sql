-- All lanes. The copy numbers them again.
SELECT namespace, type, resources FROM lane ORDER BY id
