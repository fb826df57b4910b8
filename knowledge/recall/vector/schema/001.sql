CREATE TABLE vector_model (
	num     INTEGER PRIMARY KEY, -- never used again
	name    TEXT    NOT NULL,    -- '' once it is dropped
	length  INTEGER NOT NULL,    -- of its vectors
	version BIGINT  NOT NULL,    -- one more with every change of its blocks
	vectors BIGINT  NOT NULL,    -- how many there are
	filled  BIGINT  NOT NULL,    -- passages up to this one have been seen to
	whole   INTEGER NOT NULL,    -- 1 once the background has been through
	state   INTEGER NOT NULL     -- 0 in use, 1 being dropped, 2 gone
);
CREATE UNIQUE INDEX vector_model_name ON vector_model (name) WHERE state = 0;
CREATE TABLE vector_block (
	model   BIGINT NOT NULL,
	block   BIGINT NOT NULL,     -- number of the passage, without its last six bits
	version BIGINT NOT NULL,     -- of the model, when this was written
	present BIGINT NOT NULL,     -- a bit for each of the 64 passages
	data    BLOB   NOT NULL,     -- codes, rests and scales of those present
	PRIMARY KEY (model, block)
);
CREATE INDEX vector_block_version ON vector_block (model, version);
