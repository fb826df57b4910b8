-- The open root runs after the row, as JSON, so that a command need not read the thread.
-- NULL: not known, as in rows of older versions.
ALTER TABLE ponder_batch ADD COLUMN roots TEXT;
