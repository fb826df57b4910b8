-- An index is a page to write whenever what it is of changes, and a turn of a conversation
-- begins and ends with its thread's status and holder. So there is one of what is being
-- worked on, and those of a status leave conversations out, of which nearly all are
-- completed, and what is thinking. A query says so in the same words.
DROP INDEX ponder_thread_thinking;
DROP INDEX ponder_thread_node;
DROP INDEX ponder_thread_owner_status;
DROP INDEX ponder_thread_owner_kind_status;
CREATE INDEX ponder_thread_busy ON ponder_thread (created, id) WHERE status = 'thinking' OR node <> '';
CREATE INDEX ponder_thread_owner_status ON ponder_thread (owner, status, created, id) WHERE status NOT IN ('thinking', 'completed');
CREATE INDEX ponder_thread_owner_kind_status ON ponder_thread (owner, kind, status, created, id) WHERE status <> 'thinking' AND kind <> 'conversation';

-- 1: the keys of a thread are numbered so that those of one turn are neighbours; 0: as
-- they were in version 1.
ALTER TABLE ponder_thread ADD COLUMN numbered INTEGER NOT NULL DEFAULT 0;
