-- What the languages of clients keep of their own, such as the endpoints that are told how
-- responses have ended, and what is still to be delivered to them.
CREATE TABLE serve_record (
	kind   TEXT NOT NULL,
	owner  TEXT NOT NULL,
	id     TEXT NOT NULL,
	record TEXT NOT NULL, -- a JSON object
	PRIMARY KEY (kind, owner, id)
);
