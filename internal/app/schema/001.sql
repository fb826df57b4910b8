-- What a thread was asked for through the server, as a JSON object of wishes, and the
-- token that asked for it, if that is limited in what it may cost.
CREATE TABLE serve_thread (
	thread TEXT NOT NULL PRIMARY KEY,
	token  TEXT NOT NULL, -- its name, or ''
	wishes TEXT NOT NULL
);

-- What tokens that are limited have begun on a day, and what threads of theirs had cost
-- on it that are removed.
CREATE TABLE serve_day (
	token     TEXT   NOT NULL,
	day       TEXT   NOT NULL, -- 2006-01-02, by the clock of the machine
	begun     BIGINT NOT NULL,
	micro_usd BIGINT NOT NULL,
	PRIMARY KEY (token, day)
);
