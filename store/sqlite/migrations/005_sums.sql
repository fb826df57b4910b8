-- Sums of the rows of ponder_usage up to one, so that what was used in years is not added
-- up each time. They may be removed, with the row of ponder_summed set to 0.
CREATE TABLE ponder_sum (
	owner       TEXT    NOT NULL,
	quarter     INTEGER NOT NULL, -- of an hour since 1970: all zones begin their days with one
	role        TEXT    NOT NULL,
	mode        TEXT    NOT NULL,
	model       TEXT    NOT NULL,
	calls       INTEGER NOT NULL,
	failed      INTEGER NOT NULL,
	money       INTEGER NOT NULL,
	unknown     INTEGER NOT NULL, -- calls whose price is
	input       INTEGER NOT NULL,
	cache_read  INTEGER NOT NULL,
	cache_write INTEGER NOT NULL,
	output      INTEGER NOT NULL,
	reasoning   INTEGER NOT NULL,
	cost        INTEGER,
	estimated   INTEGER NOT NULL,
	PRIMARY KEY (owner, quarter, role, mode, model)
) STRICT, WITHOUT ROWID;

CREATE TABLE ponder_summed (upto INTEGER NOT NULL) STRICT; -- one row: a rowid of ponder_usage
INSERT INTO ponder_summed VALUES (0);
