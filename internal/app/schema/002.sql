-- What a thread may cost before it has said so in its log: what a session is about to
-- begin with; or, of a conversation, what its calls may have cost in all on the day once
-- those that are being made have ended. It is zero for what is at rest.
ALTER TABLE serve_thread ADD COLUMN held BIGINT NOT NULL DEFAULT 0; -- millionths of a US dollar
ALTER TABLE serve_thread ADD COLUMN since BIGINT NOT NULL DEFAULT 0; -- when that was said, in seconds since 1970

-- Counts what was granted on a day, so that of two who have counted what is left only one
-- is granted it.
ALTER TABLE serve_day ADD COLUMN turn BIGINT NOT NULL DEFAULT 0;
