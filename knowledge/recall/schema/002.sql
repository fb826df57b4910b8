-- What the user chose stays chosen, and what could not be read is told again.
ALTER TABLE recall_file ADD COLUMN named INTEGER NOT NULL DEFAULT 0;    -- 1 if the user named the file itself
ALTER TABLE recall_file ADD COLUMN options TEXT NOT NULL DEFAULT '';    -- how it was asked to be taken, a JSON object
ALTER TABLE recall_file ADD COLUMN left_out INTEGER NOT NULL DEFAULT 0; -- parts of it that cannot be read

-- Originals of what has changed or is gone since, until the user forgets it. A row
-- is a text that was in the index; without a hash, it is the original alone.
CREATE TABLE recall_earlier (
	owner    TEXT NOT NULL,
	source   TEXT NOT NULL, -- the path or the URL
	part     TEXT NOT NULL, -- of the file, or ''
	kind     TEXT NOT NULL,
	hash     TEXT NOT NULL, -- SHA-256 of the text, hex, or ''
	original TEXT NOT NULL, -- hash of the bytes in the archive
	PRIMARY KEY (owner, source, original, hash, part)
);
CREATE INDEX recall_earlier_hash ON recall_earlier (owner, hash);
CREATE INDEX recall_earlier_copy ON recall_earlier (source, original);
