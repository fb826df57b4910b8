-- Conversations by what was said in them, for clients that send all of that each time.
CREATE TABLE serve_chat (
	owner  TEXT   NOT NULL,
	digest TEXT   NOT NULL, -- of all messages so far
	thread TEXT   NOT NULL,
	noted  BIGINT NOT NULL, -- when, in milliseconds since 1970
	PRIMARY KEY (owner, digest)
);
CREATE INDEX serve_chat_noted ON serve_chat (noted);
CREATE INDEX serve_chat_thread ON serve_chat (thread);
