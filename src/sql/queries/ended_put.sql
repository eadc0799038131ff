-- Stores how an ended task stands now. Not used for new ones: looking for the old row costs time.
INSERT OR REPLACE INTO ended (id, lane, status, version, fence, attempts, flags, progress,
                              updated_us, claimed_us, started_us, completed_us, deleted_us, worker,
                              state, error, metadata, output)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
