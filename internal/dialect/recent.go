package dialect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"ponder"
	"ponder/llm"
)

// mostRecent is of how many conversations the last turn is known.
const mostRecent = 4096

// Recent are the conversations that were talked in here, so that whoever goes on with one
// need not have it looked up, nor more of its log read than that turn. The zero value is
// ready.
type recent struct {
	mu    sync.Mutex
	turns map[ponder.ThreadID]turn
	chats map[string]ponder.ThreadID // by owner and digest of what was said
}

// A turn is the last one that was begun here in a conversation.
type turn struct {
	info    ponder.Info // of the thread. What changes of it is old.
	seq     ponder.Seq  // of the message
	message string      // its id
	chat    string      // what the conversation is found by; empty: it is named
}

// note notes a turn.
func (r *recent) note(t turn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.turns == nil {
		r.turns, r.chats = make(map[ponder.ThreadID]turn), make(map[string]ponder.ThreadID)
	}
	r.drop(t.info.ID)
	for id := range r.turns {
		if len(r.turns) < mostRecent {
			break
		}
		r.drop(id)
	}
	r.turns[t.info.ID] = t
	if t.chat != "" {
		r.chats[t.chat] = t.info.ID
	}
}

// drop forgets a turn. The caller holds r.mu.
func (r *recent) drop(id ponder.ThreadID) {
	if chat := r.turns[id].chat; r.chats[chat] == id {
		delete(r.chats, chat)
	}
	delete(r.turns, id)
}

func (r *recent) turn(id ponder.ThreadID) (turn, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, ok := r.turns[id]
	return t, ok
}

// of returns the thread of a conversation of an owner, if it is known.
func (r *recent) of(owner string, id ponder.ThreadID) (ponder.Info, bool) {
	t, ok := r.turn(id)
	return t.info, ok && t.info.Owner == owner
}

// chat returns the conversation that is found by a digest, or "".
func (r *recent) chat(owner, digest string) ponder.ThreadID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.chats[chatKey(owner, digest)]
}

func chatKey(owner, digest string) string { return owner + " " + digest }

// lately returns a conversation of an owner, if its last turn was begun here and is that of
// a list of messages; a zero Info if that is not so, or not known.
func (d *Desk) lately(ctx context.Context, owner string, id ponder.ThreadID, list []llm.Message) (info ponder.Info, err error) {
	t, ok := d.recent.turn(id)
	if !ok || t.info.Owner != owner || len(list) == 0 { // to look it up is less than to read its turn
		return info, nil
	}
	said, answer, head := "", "", ponder.Seq(0)
	for ev, err := range d.Store.Events(ctx, id, t.seq-1) {
		if errors.Is(err, ponder.ErrNoThread) {
			return info, nil
		}
		if err != nil {
			return info, fmt.Errorf("read %s: %w", id, err)
		}
		if head == 0 && ev.ID != t.message { // it was made anew
			return info, nil
		}
		head = ev.Seq
		switch b := ev.Body.(type) {
		case ponder.UserMessage:
			said, answer = b.Content, ""
		case ponder.AssistantMessage:
			answer += "\n" + b.Content
		}
	}
	if head == 0 || !isTurn(list, said, answer) {
		return info, nil
	}
	info = t.info
	info.Head = head
	return info, nil
}

// isTurn reports whether the last turn of a list of messages is one of a conversation.
func isTurn(list []llm.Message, said, answer string) bool {
	before := toLastUser(list)
	if len(before) == 0 {
		return false
	}
	var theirs strings.Builder
	for _, m := range list[len(before):] {
		theirs.WriteString(m.Text())
	}
	return Bare(said) == Bare(before[len(before)-1].Text()) && strings.HasSuffix(Bare(answer), Bare(theirs.String()))
}
