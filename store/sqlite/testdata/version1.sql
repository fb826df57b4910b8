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
INSERT INTO "ponder_batch" VALUES(1,1,1,1,1779021045123456,0,CAST('{"event_id":"evt_A","ts":"2026-05-17T12:30:45.123456Z","type":"run_started","run_id":"run_1","content":"why?","data":{"mode":"session","version":1,"budget":{"time_ns":3600000000000}}}
' AS BLOB),NULL);
INSERT INTO "ponder_batch" VALUES(2,1,2,2,1779021046123456,0,CAST('{"event_id":"evt_B","ts":"2026-05-17T12:30:46.123456Z","type":"call_started","run_id":"run_1","cause":"think-1#1","internal":true,"model":"p/m","data":{"model_role":"slow","mode":"session","held":{"calls":1,"tokens":100}}}
' AS BLOB),CAST('0 {"system":"think","messages":[{"role":"user","parts":[{"text":"why?"}]}]}
' AS BLOB));
INSERT INTO "ponder_batch" VALUES(3,1,3,5,1779021049123456,1500000000,CAST('{"event_id":"evt_C","ts":"2026-05-17T12:30:47.123456Z","type":"call_finished","run_id":"run_1","cause":"think-1#1","elapsed_ms":1500,"internal":true,"model":"p/m","usage":{"input":10,"output":5},"data":{"message":{"role":"assistant","parts":[{"text":"because"}]},"finish":"stop","spent":{"calls":1,"tokens":15,"micro_usd":7},"price":"table"}}
{"event_id":"evt_D","ts":"2026-05-17T12:30:48.123456Z","type":"thought","run_id":"run_1","cause":"thoughts-1/1.2","content":"hm","data":{"sequence_number":0,"thought_type":"insight","confidence":0.5,"time_offset_seconds":0}}
{"event_id":"evt_E","ts":"2026-05-17T12:30:49.123456Z","type":"thought","run_id":"run_1","cause":"thoughts-1/2.2","content":"日本","data":{"sequence_number":1,"thought_type":"insight","confidence":0.5,"time_offset_seconds":0}}
' AS BLOB),NULL);
INSERT INTO "ponder_batch" VALUES(4,2,1,1,1779021050123456,0,CAST('{"event_id":"evt_F","ts":"2026-05-17T12:30:50.123456Z","type":"user_message","role":"user","content":"hi"}
' AS BLOB),NULL);
INSERT INTO "ponder_batch" VALUES(6,3,0,0,0,0,CAST('' AS BLOB),NULL);
CREATE TABLE ponder_fold (
	num     INTEGER NOT NULL,
	fold    TEXT    NOT NULL,
	version TEXT    NOT NULL,
	seq     INTEGER NOT NULL,
	state   BLOB    NOT NULL,
	UNIQUE (num, fold)
) STRICT;
INSERT INTO "ponder_fold" VALUES(1,'line','1',3,X'7374617465');
CREATE TABLE ponder_key (
	num  INTEGER NOT NULL,
	turn INTEGER NOT NULL, -- the number in the cause, so that the keys of one time are neighbours
	hash BLOB    NOT NULL, -- of the key: the first 16 bytes of SHA-256
	at   INTEGER NOT NULL, -- pos * 1024 + which line of it
	PRIMARY KEY (num, turn, hash)
) STRICT, WITHOUT ROWID;
INSERT INTO "ponder_key" VALUES(1,0,X'73F94E2AD3BBF30E13F8EDFFCAFF5A22',1024);
INSERT INTO "ponder_key" VALUES(1,1,X'2FD18CC9A7EDF599ADAFF3E296899C0D',2048);
INSERT INTO "ponder_key" VALUES(1,1,X'56002F21927717DD6F98296503DA1582',3073);
INSERT INTO "ponder_key" VALUES(1,1,X'858E7E853CF287A328A6B56764406410',3072);
INSERT INTO "ponder_key" VALUES(1,1,X'D5543ABC977568E292411C23BF20EE82',3074);
CREATE TABLE ponder_meta (version INTEGER NOT NULL) STRICT;
INSERT INTO "ponder_meta" VALUES(1);
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
INSERT INTO "ponder_node" VALUES('nod_1','h','b',7,'noon',1779021045123456,0,0);
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
INSERT INTO "ponder_thread" VALUES(1,'thr_1','session','why?','local','p/m',1779021045123456,'thinking',1,1,'nod_1',0,0,0);
INSERT INTO "ponder_thread" VALUES(2,'thr_2','conversation','','local','',1779024645123456,'created',0,0,'',0,0,0);
INSERT INTO "ponder_thread" VALUES(3,'thr_3','','','','',0,'',0,1,'',0,0,1);
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
INSERT INTO "ponder_usage" VALUES(1,1779021047123456,'run_1','think-1#1','','slow','session','p/m',0,10,0,0,5,0,NULL,0,7,'table');
CREATE INDEX ponder_thread_created ON ponder_thread (created, id);
CREATE INDEX ponder_thread_thinking ON ponder_thread (created, id) WHERE status = 'thinking';
CREATE INDEX ponder_thread_node ON ponder_thread (node) WHERE node <> '';
CREATE UNIQUE INDEX ponder_batch_last ON ponder_batch (num, last);
