-- Indexes for lists in the order of the last change.
--
-- Held tasks need none, because there are few. Ready tasks that nothing has changed since their
-- submit have no time of a change: they are listed by id.

CREATE INDEX ended_updated ON ended (status, updated_us);
CREATE INDEX parked_updated ON parked (updated_us);
CREATE INDEX ready_updated ON ready (updated_us, id) WHERE updated_us IS NOT NULL;
