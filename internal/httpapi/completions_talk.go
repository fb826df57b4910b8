package httpapi

import (
	"strconv"
	"strings"

	"ponder"
	"ponder/internal/dialect"
	"ponder/internal/stream"
)

// What the mode chat says of itself in a log: see its package.
const (
	modeChat  = "chat"
	modeTitle = "title"
	turnEnded = "turn" // the stage of the progress event that ends a turn
	sayKey    = "say-"
)

// A talkTeller tells of a turn of a conversation. Pieces are told as they come, as far as
// they were heard from the beginning of the call that writes them; what was not is told
// when it is in the log.
type talkTeller struct {
	message string // the id of the event that is answered
	mine    string // begins the numbers of the rounds of the turn: "N-"
	fresh   bool   // a title is wanted

	prose   dialect.Prose
	settled int                   // the newest round that is in the log
	begun   map[string]ponder.Seq // by key of a call of the turn: where its newest attempt begins
	held    []stream.Piece        // of calls that are not known to have begun
	deafTo  ponder.Seq            // of calls that began up to here, not all was heard
	seen    ponder.Seq            // the newest event
	models  []string

	run    ponder.RunID // that answers; empty until it is known
	ended  bool         // the turn
	done   bool         // the run
	failed string       // why there is no answer
	naming ponder.RunID // the run that makes a title, while it goes on
	named  string       // the title
}

// maxHeld is how many pieces wait at most.
const maxHeld = 1000

// newTalkTeller returns the teller of the turn of a message. Deaf is the newest event that
// there was before it began to listen, or zero if it has listened all along.
func newTalkTeller(ev ponder.Event, deaf ponder.Seq, models []string, fresh bool) *talkTeller {
	return &talkTeller{
		message: ev.ID, mine: strconv.FormatInt(int64(ev.Seq), 10) + "-", fresh: fresh, deafTo: deaf, models: models,
		begun: make(map[string]ponder.Seq),
	}
}

// round returns the number of a round of this turn from its key.
func (t *talkTeller) round(key, kind string) (int, bool) {
	rest, ok := strings.CutPrefix(key, kind+t.mine)
	n, err := strconv.Atoi(rest)
	return n, ok && err == nil && n > 0
}

// keyOf returns the key of the action that an event is of.
func keyOf(ev ponder.Event) string {
	key, _, _ := strings.Cut(ev.Cause, "/")
	key, _, _ = strings.Cut(key, "#")
	return key
}

// event implements [teller].
func (t *talkTeller) event(ev ponder.Event) []Chunk {
	t.seen = max(t.seen, ev.Seq)
	key := keyOf(ev)
	switch b := ev.Body.(type) {
	case ponder.CallStarted:
		if _, ok := t.round(key, turnKey); ok {
			return t.asked(ev, key, b.Model)
		}
	case ponder.CallFinished:
		if _, ok := t.round(key, turnKey); ok && b.Error != "" {
			t.prose.Again(key)
		}
	case ponder.AssistantMessage:
		if n, ok := t.round(key, sayKey); ok {
			t.run = ev.Run
			return t.said(n, b)
		}
	case ponder.Progress:
		if b.Stage == turnEnded && b.Ref == t.message {
			t.ended, t.run = true, ev.Run
			if b.Refused {
				t.failed = "no answer: the model could not be asked, or said nothing" // the run says more
			}
		}
	case ponder.RunStarted:
		t.started(ev.Run, b)
	case ponder.TitleGenerated:
		t.named = b.Content
	case ponder.RunFinished:
		t.finished(ev.Run, b)
	}
	return nil
}

// started takes in that a run begins that may answer, or make a title.
func (t *talkTeller) started(run ponder.RunID, b ponder.RunStarted) {
	switch {
	case b.Mode == modeTitle && t.named == "":
		t.naming = run
	case b.Mode == modeChat && t.run == "":
		t.run = run
	}
}

// asked takes in that a round begins, or begins anew.
func (t *talkTeller) asked(ev ponder.Event, key, model string) (list []Chunk) {
	t.run = ev.Run
	if model != "" {
		t.models = []string{model}
	}
	if t.begun[key] != 0 {
		t.prose.Again(key)
	}
	t.begun[key] = ev.Seq
	held := t.held
	t.held = nil
	for _, p := range held {
		list = append(list, t.piece(p)...)
	}
	return list
}

// said takes in what the log has of a round.
func (t *talkTeller) said(n int, b ponder.AssistantMessage) []Chunk {
	if b.Model != "" {
		t.models = []string{b.Model}
	}
	t.settled = max(t.settled, n)
	text, replace := t.prose.Settle(turnKey+t.mine+strconv.Itoa(n), b.Content)
	return t.text(text, replace)
}

func (t *talkTeller) text(text string, replace bool) []Chunk {
	if text == "" {
		return nil
	}
	c := textChunk(text, replace)
	c.Models = t.models
	return []Chunk{c}
}

// finished takes in that a run is over: the one that answers, or the one that makes a
// title.
func (t *talkTeller) finished(run ponder.RunID, b ponder.RunFinished) {
	if run == t.naming {
		t.naming = ""
	}
	if run != t.run || run == "" {
		return
	}
	t.done = true
	if b.Status != ponder.Completed && (!t.ended || t.failed != "") {
		t.failed = whyEnded(b)
	}
}

// piece implements [teller].
func (t *talkTeller) piece(p stream.Piece) []Chunk {
	n, ok := t.round(p.Key, turnKey)
	if !ok || n <= t.settled || p.Run.Parent() != "" {
		return nil
	}
	begun, known := t.begun[p.Key]
	switch {
	case known && begun <= t.deafTo:
		return nil
	case !known && (n > 1 || t.deafTo > 0):
		if t.held = append(t.held, p); len(t.held) > maxHeld {
			t.held = nil
			t.missed()
		}
		return nil
	}
	return t.text(t.prose.Hear(p.Key, p.Text), false)
}

// missed implements [teller]: of what goes on now, not all was heard.
func (t *talkTeller) missed() {
	t.deafTo, t.held = max(t.deafTo, t.seen, 1), nil
	t.prose.Miss()
}

// over implements [teller]. A title comes in its own time, and so does the reason of a
// failure.
func (t *talkTeller) over() (over, last bool) {
	switch {
	case t.done && (!t.ended || t.failed != ""):
		return true, true
	case !t.ended:
		return false, false
	case t.failed != "":
		return false, true
	case !t.fresh || t.named != "":
		return true, true
	}
	return t.done && t.naming == "", true
}

func (t *talkTeller) title() string { return t.named }

// close implements [teller]: what was heard and came to nothing is taken back, and why
// there is no answer is said.
func (t *talkTeller) close() (list []Chunk) {
	if t.prose.Dangling() && t.ended {
		c := textChunk(t.prose.Settled(), true)
		c.Models = t.models
		list = append(list, c)
	}
	if t.failed != "" {
		list = append(list, Chunk{Type: chunkError, Error: t.failed, Models: t.models})
	}
	return list
}
