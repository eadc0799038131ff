-- Every lane by its name. Lanes are numbered anew in the copy.
SELECT namespace, type, resources FROM lane ORDER BY id
