-- What a thread may cost in all, as far as its token has reserved it, and what its calls
-- have cost since it has a row. A thread that is not at rest (held > 0) reserves the
-- difference of the two. A ceiling is NULL until it is read from the log. held is 1, or 2
-- while the thread is about to start or to continue.
ALTER TABLE serve_thread ADD COLUMN ceiling BIGINT; -- millionths of a US dollar
ALTER TABLE serve_thread ADD COLUMN cost BIGINT NOT NULL DEFAULT 0;

-- What the threads of a token have cost in a quarter of an hour, also those that are removed.
CREATE TABLE serve_cost (
	token     TEXT   NOT NULL,
	quarter   BIGINT NOT NULL, -- of an hour since 1970: all zones begin their days with one
	micro_usd BIGINT NOT NULL,
	PRIMARY KEY (token, quarter)
);
INSERT INTO serve_cost (token, quarter, micro_usd)
	SELECT s.token, u.time / 900000000, sum(u.money)
	FROM ponder_usage u JOIN ponder_thread t USING (num) JOIN serve_thread s ON s.thread = t.id
	WHERE u.tool = '' AND u.money > 0 AND s.token <> '' AND u.time > (SELECT max(time) FROM ponder_usage) - 172800000000
	GROUP BY s.token, u.time / 900000000;

-- The cost of a call is counted in the transaction that appends its result to the log.
CREATE TRIGGER serve_usage AFTER INSERT ON ponder_usage WHEN NEW.tool = '' AND NEW.money > 0
BEGIN
	UPDATE serve_thread SET cost = cost + NEW.money WHERE thread = (SELECT id FROM ponder_thread WHERE num = NEW.num);
	INSERT INTO serve_cost (token, quarter, micro_usd)
		SELECT s.token, NEW.time / 900000000, NEW.money
		FROM ponder_thread t JOIN serve_thread s ON s.thread = t.id WHERE t.num = NEW.num AND s.token <> ''
		ON CONFLICT (token, quarter) DO UPDATE SET micro_usd = serve_cost.micro_usd + excluded.micro_usd;
END;
