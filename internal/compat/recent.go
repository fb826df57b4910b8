package compat

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"ponder"
	"ponder/llm"
)

// ErrStale says that what [Desk.Last] has returned is not so any more, or cannot be made sure
// of: it is to be looked up.
var ErrStale = errors.New("a conversation has gone on since")

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
	begun   time.Time   // when it was said
	said    string      // the message
	outcome outcome     // zero until it has ended
}

// An outcome is how a turn has ended, as far as it was heard here.
type outcome struct {
	answer string     // all that was said
	told   string     // the newest event that the thread was told: see [ponder.Event.IsTold]
	head   ponder.Seq // the newest event
}

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
	if len(t.said) > mostByHeart {
		t.said = ""
	}
	r.turns[t.info.ID] = t
	if t.chat != "" {
		r.chats[t.chat] = t.info.ID
	}
}

// mostByHeart is how many bytes of a message, and of an answer, are known by heart at most.
const mostByHeart = 16 << 10

// ended notes how the turn of a message has ended, if the message is known.
func (r *recent) ended(id ponder.ThreadID, message string, o outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t, ok := r.turns[id]; ok && t.message == message && t.said != "" && len(o.answer) <= mostByHeart {
		t.outcome = o
		r.turns[id] = t
	}
}

// forget has the last turn of a conversation looked up.
func (r *recent) forget(id ponder.ThreadID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(id)
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
// a list of messages, if there are any; a zero spot if that is not so, or not known. Without
// sure, whoever says something there makes sure of it.
func (d *Desk) lately(ctx context.Context, owner string, id ponder.ThreadID, list []llm.Message, sure bool) (at spot, err error) {
	t, ok := d.recent.turn(id)
	switch {
	case !ok || t.info.Owner != owner:
		return at, nil
	case t.outcome.told != "" && !sure:
		if len(list) == 0 || isTurn(list, t.said, t.outcome.answer) {
			at = t.spot()
		}
		return at, nil
	case len(list) == 0: // to look it up is less than to read its turn
		return at, nil
	}
	info, err := d.reread(ctx, t, list)
	return spot{Info: info, told: info.ID != ""}, err
}

// spot returns where a turn that has ended is gone on with.
func (t turn) spot() spot {
	at := spot{Info: t.info, told: true, after: t.outcome.told}
	at.Head = t.outcome.head
	return at
}

// Last returns the work of an owner by its ID, as [Desk.Work] does, if it is known by heart
// to be the last turn of a conversation, and has ended. What is begun behind it makes sure
// that the conversation was told nothing since, or fails with [ErrStale]; then it is not
// known by heart any more.
func (d *Desk) Last(owner, id string) (w Work, ok bool) {
	thread, place, _ := strings.Cut(id, "-")
	t, ok := d.recent.turn(ponder.ThreadID("thr_" + thread))
	if !ok || t.info.Owner != owner || t.outcome.told == "" || place != strconv.FormatInt(int64(t.seq), 10) {
		return w, false
	}
	at := t.spot()
	return Work{
		Thread: at.ID, Way: Chat, After: t.seq - 1, Message: t.message, Model: at.Model, Begun: t.begun, info: at.Info, told: at.after,
	}, true
}

// reread returns the conversation of a turn, if that is its last one, and that of a list of
// messages.
func (d *Desk) reread(ctx context.Context, t turn, list []llm.Message) (info ponder.Info, err error) {
	said, answer, head := "", "", ponder.Seq(0)
	for ev, err := range d.Store.Events(ctx, t.info.ID, t.seq-1) {
		if errors.Is(err, ponder.ErrNoThread) {
			return info, nil
		}
		if err != nil {
			return info, fmt.Errorf("read %s: %w", t.info.ID, err)
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
