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
	"ponder/internal/app"
	"ponder/llm"
)

// ErrStale reports that cached state of a conversation is outdated or unverifiable.
var ErrStale = errors.New("the cached conversation is outdated")

// maxRecent limits the cached turns.
const maxRecent = 4096

// turnCache caches the last turns of this process, so that continuing one needs no lookup. The zero value is
// ready.
type turnCache struct {
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
	answer    string
	lastInput string // newest external input: see [ponder.Event.IsExternalInput]
	head      ponder.Seq
}

func (r *turnCache) noteTurn(t turn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.turns == nil {
		r.turns, r.chats = make(map[ponder.ThreadID]turn), make(map[string]ponder.ThreadID)
	}
	r.dropTurn(t.info.ID)
	for id := range r.turns {
		if len(r.turns) < maxRecent {
			break
		}
		r.dropTurn(id)
	}
	if len(t.said) > maxCachedText {
		t.said = ""
	}
	r.turns[t.info.ID] = t
	if t.chat != "" {
		r.chats[t.chat] = t.info.ID
	}
}

// maxCachedText limits a cached message or answer, in bytes.
const maxCachedText = 16 << 10

func (r *turnCache) noteOutcome(id ponder.ThreadID, message string, o outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t, ok := r.turns[id]; ok && t.message == message && t.said != "" && len(o.answer) <= maxCachedText {
		t.outcome = o
		r.turns[id] = t
	}
}

func (r *turnCache) forgetTurn(id ponder.ThreadID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropTurn(id)
}

// dropTurn requires r.mu.
func (r *turnCache) dropTurn(id ponder.ThreadID) {
	if chat := r.turns[id].chat; r.chats[chat] == id {
		delete(r.chats, chat)
	}
	delete(r.turns, id)
}

func (r *turnCache) findTurn(id ponder.ThreadID) (turn, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, ok := r.turns[id]
	return t, ok
}

func (r *turnCache) cachedInfo(owner string, id ponder.ThreadID) (ponder.Info, bool) {
	t, ok := r.findTurn(id)
	return t.info, ok && t.info.Owner == owner
}

func (r *turnCache) chatThread(owner, digest string) ponder.ThreadID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.chats[chatKey(owner, digest)]
}

func chatKey(owner, digest string) string { return owner + " " + digest }

// findRecent returns a cached conversation whose last turn is the end of list, or a zero spot. sure verifies it
// against the log; otherwise the append does.
func (d *Dispatcher) findRecent(ctx context.Context, owner string, id ponder.ThreadID, list []llm.Message, sure bool) (at chatTarget, err error) {
	t, ok := d.turns.findTurn(id)
	switch {
	case !ok || t.info.Owner != owner:
		return at, nil
	case t.outcome.lastInput != "" && !sure:
		if len(list) == 0 || isTurn(list, t.said, t.outcome.answer) {
			at = t.toTarget()
		}
		return at, nil
	case len(list) == 0: // a lookup is cheaper
		return at, nil
	}
	info, err := d.verifyTurn(ctx, t, list)
	return chatTarget{Info: info, hasAllMessages: info.ID != ""}, err
}

func (t turn) toTarget() chatTarget {
	at := chatTarget{Info: t.info, hasAllMessages: true, after: t.outcome.lastInput}
	at.Head = t.outcome.head
	return at
}

// LastTurn returns a work from the cache if it is the last, ended turn of its conversation. [Dispatcher.Begin] after it
// returns [ErrStale], and drops the cached turn, if other input came since.
func (d *Dispatcher) LastTurn(owner, id string) (w Job, ok bool) {
	thread, place, _ := strings.Cut(id, "-")
	t, ok := d.turns.findTurn(ponder.ThreadID("thr_" + thread))
	if !ok || t.info.Owner != owner || t.outcome.lastInput == "" || place != strconv.FormatInt(int64(t.seq), 10) {
		return w, false
	}
	at := t.toTarget()
	return Job{
		Thread: at.ID, Kind: Chat, After: t.seq - 1, Message: t.message, Model: at.Model, Started: t.begun, info: at.Info, lastInput: at.after,
	}, true
}

// verifyTurn returns the conversation of t if its last turn in the log ends list.
func (d *Dispatcher) verifyTurn(ctx context.Context, t turn, list []llm.Message) (info ponder.Info, err error) {
	said, answer, questions, head := "", "", "", ponder.Seq(0)
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
			said, answer, questions = b.Content, "", ""
		case ponder.AssistantMessage:
			answer += "\n" + b.Content
		case ponder.ApprovalRequested:
			questions += "\n" + app.NewApproval(ev).Text()
		}
	}
	if head == 0 || !isTurn(list, said, answer+questions) {
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
	isEnd := func(answer string) bool {
		return strings.HasSuffix(Alphanumeric(answer), Alphanumeric(theirs.String()))
	}
	return Alphanumeric(said) == Alphanumeric(before[len(before)-1].Text()) && (isEnd(answer) || isEnd(app.CutQuestions(answer)))
}
