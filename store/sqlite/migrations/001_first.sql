CREATE TABLE ponder_thread (
	num     INTEGER PRIMARY KEY, -- stands for the thread in all other tables; never used again
	id      TEXT    NOT NULL UNIQUE,
	kind    TEXT    NOT NULL,
	title   TEXT    NOT NULL,
	owner   TEXT    NOT NULL,
	model   TEXT    NOT NULL,
	created INTEGER NOT NULL, -- all times are microseconds since 1970
	status  TEXT    NOT NULL,
	open    INTEGER NOT NULL, -- root runs that have not finished
	fence   INTEGER NOT NULL, -- of the newest lease
	node    TEXT    NOT NULL, -- its holder, or nothing once it is released
	base    INTEGER NOT NULL, -- all spans are nanoseconds
	clock   INTEGER NOT NULL,
	removed INTEGER NOT NULL -- 1: only the fence and the costs are left
) STRICT;
CREATE INDEX ponder_thread_created ON ponder_thread (created, id);
CREATE INDEX ponder_thread_thinking ON ponder_thread (created, id) WHERE status = 'thinking';
CREATE INDEX ponder_thread_node ON ponder_thread (node) WHERE node <> '';

-- A row is what one append wrote, or a part of it. Removing a thread leaves one
-- row without lines, so that pos keeps growing and watchers are told.
CREATE TABLE ponder_batch (
	pos   INTEGER PRIMARY KEY, -- grows over all threads, in the order of commits
	num   INTEGER NOT NULL,
	first INTEGER NOT NULL, -- seq of the first line
	last  INTEGER NOT NULL,
	time  INTEGER NOT NULL, -- of the last line
	seen  INTEGER NOT NULL, -- the most that a holder said of the thinking time up to here
	lines BLOB    NOT NULL, -- events as JSON, one a line, without thread_id and seq
	asked BLOB -- what models are sent, if that is known, one a line: which of lines, from 0, and the request as JSON
) STRICT;
CREATE UNIQUE INDEX ponder_batch_last ON ponder_batch (num, last);

-- The keys of events, so that each is taken once.
CREATE TABLE ponder_key (
	num  INTEGER NOT NULL,
	turn INTEGER NOT NULL, -- the number in the cause, so that the keys of one time are neighbours
	hash BLOB    NOT NULL, -- of the key: the first 16 bytes of SHA-256
	at   INTEGER NOT NULL, -- pos * 1024 + which line of it
	PRIMARY KEY (num, turn, hash)
) STRICT, WITHOUT ROWID;

-- What attempts came to. Rows outlive their threads.
CREATE TABLE ponder_usage (
	num         INTEGER NOT NULL,
	time        INTEGER NOT NULL,
	run         TEXT    NOT NULL,
	cause       TEXT    NOT NULL,
	tool        TEXT    NOT NULL,
	role        TEXT    NOT NULL,
	mode        TEXT    NOT NULL,
	model       TEXT    NOT NULL,
	failed      INTEGER NOT NULL,
	input       INTEGER NOT NULL,
	cache_read  INTEGER NOT NULL,
	cache_write INTEGER NOT NULL,
	output      INTEGER NOT NULL,
	reasoning   INTEGER NOT NULL,
	cost        INTEGER, -- as the provider says
	estimated   INTEGER NOT NULL,
	money       INTEGER NOT NULL, -- millionths of a dollar; 0 if the price is unknown
	price       TEXT    NOT NULL
) STRICT;

CREATE TABLE ponder_node (
	id     TEXT    PRIMARY KEY,
	host   TEXT    NOT NULL,
	boot   TEXT    NOT NULL,
	pid    INTEGER NOT NULL,
	start  TEXT    NOT NULL,
	beat   INTEGER NOT NULL,
	clock  INTEGER NOT NULL,
	buried INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE ponder_fold (
	num     INTEGER NOT NULL,
	fold    TEXT    NOT NULL,
	version TEXT    NOT NULL,
	seq     INTEGER NOT NULL,
	state   BLOB    NOT NULL,
	UNIQUE (num, fold)
) STRICT;
