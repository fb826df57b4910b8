-- What was used since a time, without reading what was used before.
CREATE INDEX ponder_usage_time ON ponder_usage (time);

-- Whose a thread was that was removed: what it used is still a part of what he used.
ALTER TABLE ponder_thread ADD COLUMN former TEXT NOT NULL DEFAULT '';
