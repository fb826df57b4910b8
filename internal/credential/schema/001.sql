-- Browsers that have exchanged a token for a cookie. The cookie has the secret.
CREATE TABLE credential_sign_in (
	hash    TEXT   NOT NULL PRIMARY KEY, -- of the secret, SHA-256 in hex
	token   TEXT   NOT NULL,             -- name, or '' on a server without tokens
	digest  TEXT   NOT NULL,             -- hash of the token
	created BIGINT NOT NULL,             -- seconds since 1970
	used    BIGINT NOT NULL              -- seconds since 1970
);

-- Links to read one report. The link has the secret.
CREATE TABLE credential_share (
	id      TEXT   NOT NULL PRIMARY KEY,
	hash    TEXT   NOT NULL UNIQUE, -- of the secret, SHA-256 in hex
	owner   TEXT   NOT NULL,
	thread  TEXT   NOT NULL,
	created BIGINT NOT NULL, -- seconds since 1970
	expires BIGINT NOT NULL, -- seconds since 1970
	opened  BIGINT NOT NULL  -- number of times
);
CREATE INDEX credential_share_owner ON credential_share (owner);
