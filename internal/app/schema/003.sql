-- Requests that were made with an Idempotency-Key and left no event that has it.
CREATE TABLE serve_once (
	id     TEXT   NOT NULL PRIMARY KEY, -- a digest of the owner, the route and the key
	words  TEXT   NOT NULL,             -- a digest of what was asked for
	answer TEXT   NOT NULL,             -- as JSON; '' until it is answered
	since  BIGINT NOT NULL              -- when it was made, in seconds since 1970
);
