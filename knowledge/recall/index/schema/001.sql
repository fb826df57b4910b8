-- The one row counts: versions of the index, and the last segment, passage and
-- purge that were made.
CREATE TABLE index_state (
    one     INTEGER PRIMARY KEY,
    version BIGINT  NOT NULL,
    segment BIGINT  NOT NULL,
    passage BIGINT  NOT NULL,
    purge   BIGINT  NOT NULL
);

INSERT INTO index_state (one, version, segment, passage, purge) VALUES (1, 0, 0, 0, 0);

-- Documents and their passages, as they were added.
CREATE TABLE index_doc (
    id       INTEGER PRIMARY KEY,
    first    BIGINT  NOT NULL, -- its first passage; the others follow
    passages INTEGER NOT NULL,
    language TEXT    NOT NULL, -- what its words were stemmed by
    title    TEXT    NOT NULL,
    names    TEXT    NOT NULL  -- one on a line
);

CREATE TABLE index_passage (
    num      INTEGER PRIMARY KEY,
    doc      BIGINT  NOT NULL,
    start_at BIGINT  NOT NULL,
    end_at   BIGINT  NOT NULL,
    page     INTEGER NOT NULL,
    heading  TEXT    NOT NULL,
    speaker  TEXT    NOT NULL,
    body     TEXT    NOT NULL
);

-- Segments. What is in them is in index_blob.
CREATE TABLE index_segment (
    id       INTEGER PRIMARY KEY,
    state    INTEGER NOT NULL, -- 0 is being made, 1 is searched, 2 is to be deleted
    target   BIGINT  NOT NULL, -- the segment that it is being merged into, or 0
    changed  BIGINT  NOT NULL, -- the version that its dead are of
    purged   BIGINT  NOT NULL, -- the version that its terms and postings are of
    purges   INTEGER NOT NULL, -- rows of index_purge that it has
    beat     BIGINT  NOT NULL, -- when its maker was last seen, while it is being made
    first    BIGINT  NOT NULL, -- what the numbers of its passages are relative to
    dead     BLOB    NOT NULL  -- a bit for each document that was removed
);

-- Parts of segments: the id is that of the segment, two bits for the kind
-- (0 documents, 1 terms, 2 postings) and 28 for the number, from high to low.
CREATE TABLE index_blob (
    id   INTEGER PRIMARY KEY,
    data BLOB NOT NULL
);

-- Terms of documents that were removed, whose postings are still to be.
CREATE TABLE index_purge (
    id      INTEGER PRIMARY KEY,
    segment BIGINT  NOT NULL,
    terms   BLOB    NOT NULL
);
CREATE INDEX index_purge_segment ON index_purge (segment);
