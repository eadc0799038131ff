-- Creates the list of migrations where it is missing. The transaction holds the only write lock.
-- SQLite stores the text from the name on: stores of all versions have the same line.
CREATE TABLE IF NOT EXISTS
schema_migrations (id TEXT PRIMARY KEY, description TEXT NOT NULL, executed_at TEXT NOT NULL)
