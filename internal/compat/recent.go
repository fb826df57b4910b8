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

// ErrStale reports that cached state of a conversation is outdated or unverifiable.
var ErrStale = errors.New("a conversation has gone on since")

// mostRecent limits the cached turns.
const mostRecent = 4096

// recent caches the last turns of this process, so that continuing one needs no lookup. The zero value is
// ready.
type recent struct {
	mu    sync.Mutex
	turns map[ponder.ThreadID]turn
	chats map[string]ponder.ThreadID // by owner and digest
}

type turn struct {
	info    ponder.Info // may be outdated
	seq     ponder.Seq
	message string // event id
	chat    string // key of chats; empty: named
	begun   time.Time
	said    string  // empty if too long
	outcome outcome // zero until the end
}

type outcome struct {
	answer string
	told   string // newest external input: see [ponder.Event.IsTold]
	head   ponder.Seq
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

// mostByHeart limits a cached message or answer, in bytes.
const mostByHeart = 16 << 10

func (r *recent) ended(id ponder.ThreadID, message string, o outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t, ok := r.turns[id]; ok && t.message == message && t.said != "" && len(o.answer) <= mostByHeart {
		t.outcome = o
		r.turns[id] = t
	}
}

func (r *recent) forget(id ponder.ThreadID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(id)
}

// drop requires r.mu.
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

func (r *recent) of(owner string, id ponder.ThreadID) (ponder.Info, bool) {
	t, ok := r.turn(id)
	return t.info, ok && t.info.Owner == owner
}

func (r *recent) chat(owner, digest string) ponder.ThreadID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.chats[chatKey(owner, digest)]
}

func chatKey(owner, digest string) string { return owner + " " + digest }

// lately returns a cached conversation whose last turn is the end of list, or a zero spot. sure verifies it
// against the log; otherwise the append does.
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
	case len(list) == 0: // a lookup is cheaper
		return at, nil
	}
	info, err := d.reread(ctx, t, list)
	return spot{Info: info, told: info.ID != ""}, err
}

func (t turn) spot() spot {
	at := spot{Info: t.info, told: true, after: t.outcome.told}
	at.Head = t.outcome.head
	return at
}

// Last returns a work from the cache if it is the last, ended turn of its conversation. [Desk.Begin] after it
// returns [ErrStale], and drops the cached turn, if other input came since.
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

// reread returns the conversation of t if its last turn in the log ends list.
func (d *Desk) reread(ctx context.Context, t turn, list []llm.Message) (info ponder.Info, err error) {
	said, answer, head := "", "", ponder.Seq(0)
	for ev, err := range d.Store.Events(ctx, t.info.ID, t.seq-1) {
		if errors.Is(err, ponder.ErrNoThread) {
			return info, nil
		}
		if err != nil {
			return info, fmt.Errorf("read %s: %w", t.info.ID, err)
		}
		if head == 0 && ev.ID != t.message { // recreated
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
