-- Lists of an owner's threads, the newest first: each is read in the order of an index,
-- from where the page before ended.
CREATE INDEX ponder_thread_owner ON ponder_thread (owner, created, id);
CREATE INDEX ponder_thread_owner_kind ON ponder_thread (owner, kind, created, id);
CREATE INDEX ponder_thread_owner_status ON ponder_thread (owner, status, created, id);
CREATE INDEX ponder_thread_owner_kind_status ON ponder_thread (owner, kind, status, created, id);
