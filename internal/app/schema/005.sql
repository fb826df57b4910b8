-- Who holds something of the day of a token.
CREATE INDEX serve_thread_held ON serve_thread (token) WHERE held > 0;

-- What models were asked beside threads: vectors of texts, which are of no thread.
CREATE TABLE serve_used (
	owner     TEXT   NOT NULL,
	quarter   BIGINT NOT NULL, -- of an hour since 1970: all zones begin their days with one
	model     TEXT   NOT NULL,
	calls     BIGINT NOT NULL,
	failed    BIGINT NOT NULL,
	input     BIGINT NOT NULL, -- tokens
	micro_usd BIGINT NOT NULL,
	unpriced  BIGINT NOT NULL, -- calls whose price is not known
	PRIMARY KEY (owner, quarter, model)
);
