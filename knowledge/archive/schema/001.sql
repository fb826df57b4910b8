-- Bytes, each once.
CREATE TABLE archive_blob (
	hash   TEXT    PRIMARY KEY, -- SHA-256 of the bytes, hex
	size   INTEGER NOT NULL,    -- of the bytes
	packed INTEGER NOT NULL,    -- 0: body is the bytes; 1: it is compressed (RFC 1951)
	body   BLOB    NOT NULL
);

-- Where bytes came from, and when: one row for each source that had them.
CREATE TABLE archive_copy (
	source  TEXT   NOT NULL, -- a path or a URL
	hash    TEXT   NOT NULL,
	type    TEXT   NOT NULL, -- media type
	title   TEXT   NOT NULL,
	fetched BIGINT NOT NULL, -- the newest time, in microseconds since 1970
	PRIMARY KEY (source, hash)
);
CREATE INDEX archive_copy_hash ON archive_copy (hash);

-- Small values that can be had again, such as what a search found.
CREATE TABLE archive_note (
	kind  TEXT   NOT NULL,
	name  TEXT   NOT NULL,
	at    BIGINT NOT NULL, -- microseconds since 1970
	value BLOB   NOT NULL,
	PRIMARY KEY (kind, name)
);
CREATE INDEX archive_note_at ON archive_note (kind, at);
