-- Decides that what was not committed by now never is.
INSERT INTO proof (writer, number, at_us) VALUES ($1::text, $2::bigint, clock_us())
ON CONFLICT (writer) DO UPDATE SET number = excluded.number, at_us = excluded.at_us
