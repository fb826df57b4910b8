-- What is remembered: a row for each item. Its text is in the index, which
-- knows it by num.
CREATE TABLE recall_item (
	num         INTEGER PRIMARY KEY, -- of the document in the index; never used again
	id          TEXT    NOT NULL,
	owner       TEXT    NOT NULL,
	identity    TEXT    NOT NULL,    -- what makes it the same item when it comes again, hashed
	sum         TEXT    NOT NULL,    -- of all that was said of it, hashed: the same if nothing changed
	kind        TEXT    NOT NULL,
	persona     TEXT    NOT NULL,
	title       TEXT    NOT NULL,
	source      TEXT    NOT NULL,
	external_id TEXT    NOT NULL,
	link        TEXT    NOT NULL,
	author      TEXT    NOT NULL,
	tags        TEXT    NOT NULL,    -- a JSON array
	date        BIGINT  NOT NULL,    -- microseconds since 1970; 0 if unknown
	added       BIGINT  NOT NULL,
	path        TEXT    NOT NULL,    -- of the file it is from, or ''
	part        TEXT    NOT NULL,    -- which part of the file, or ''
	hash        TEXT    NOT NULL,    -- SHA-256 of the text in the index, hex
	original    TEXT    NOT NULL,    -- hash of the bytes in the archive; '' if none, or if it is that of the file
	size        INTEGER NOT NULL,    -- of the text in the index, in bytes
	passages    INTEGER NOT NULL,
	said        TEXT    NOT NULL,    -- the text as it was given, if it was
	raw         TEXT    NOT NULL,
	meta        TEXT    NOT NULL     -- a JSON object
);
CREATE UNIQUE INDEX recall_item_id ON recall_item (owner, id);
CREATE UNIQUE INDEX recall_item_identity ON recall_item (owner, identity);
CREATE INDEX recall_item_path ON recall_item (owner, path);
CREATE INDEX recall_item_source ON recall_item (owner, source);
CREATE INDEX recall_item_external ON recall_item (owner, external_id);
CREATE INDEX recall_item_date ON recall_item (owner, date);
CREATE INDEX recall_item_hash ON recall_item (owner, hash);

-- Files as they were read last.
CREATE TABLE recall_file (
	owner    TEXT   NOT NULL,
	path     TEXT   NOT NULL,
	size     BIGINT NOT NULL,
	mtime    BIGINT NOT NULL, -- nanoseconds since 1970; 0 if it was written to just before
	hash     TEXT   NOT NULL, -- SHA-256 of its bytes, hex
	original TEXT   NOT NULL, -- the same if the bytes are in the archive, or ''
	settings TEXT   NOT NULL, -- how it was read, hashed
	state    TEXT   NOT NULL, -- 'done', 'part': not all of it is there yet, 'bad': it cannot be read
	reason   TEXT   NOT NULL, -- why it is bad
	change   BIGINT NOT NULL, -- another number after each change
	PRIMARY KEY (owner, path)
);
CREATE INDEX recall_file_path ON recall_file (path);

-- Numbers that are given once.
CREATE TABLE recall_number (
	name TEXT   PRIMARY KEY,
	next BIGINT NOT NULL
);
INSERT INTO recall_number (name, next) VALUES ('item', 1);

CREATE TABLE recall_persona (
	owner   TEXT   NOT NULL,
	name    TEXT   NOT NULL,
	voice   TEXT   NOT NULL,
	sources TEXT   NOT NULL, -- a JSON array
	tags    TEXT   NOT NULL, -- a JSON array
	created BIGINT NOT NULL, -- microseconds since 1970
	PRIMARY KEY (owner, name)
);
