package httpapi

import (
	"strconv"
	"strings"

	"ponder"
	"ponder/mode/chat"
)

// The keys of the calls that write what a user is answered, and of what they have written,
// begin so: see package chat.
const (
	turnKey = "turn-"
	sayKey  = "say-"
)

// A Turn is how far the answer to a message has come.
type Turn struct {
	Message string       `json:"message_id"` // the event of the message
	Run     ponder.RunID `json:"run_id,omitempty"`
	Status  string       `json:"status" enum:"answering,answered,failed"`
	Answer  string       `json:"answer"` // what is said, as far as it is written
	Model   string       `json:"model,omitempty"`
	Error   string       `json:"error_message"` // why there is no answer
}

// What a turn may be.
const (
	answering = "answering"
	answered  = "answered"
	failed    = "failed"
)

// A turn follows the answer to a message.
type turn struct {
	Turn
	number string // of the message, with a dash, which keys of the turn have
}

func turnOf(message ponder.Event) *turn {
	return &turn{Turn{Message: message.ID, Status: answering}, strconv.FormatInt(int64(message.Seq), 10) + "-"}
}

// over reports whether there is no more to the turn.
func (t *turn) over() bool { return t.Status != answering }

// writes reports whether an action of a key writes what the user is answered.
func (t *turn) writes(key string) bool { return strings.HasPrefix(key, turnKey+t.number) }

// see takes in an event of the thread. It returns true if a run has ended of which it is
// not known whether it answers.
func (t *turn) see(ev ponder.Event) (unsure bool) {
	switch b := ev.Body.(type) {
	case ponder.RunStarted:
		if b.Mode == chat.Name && ev.Run.Parent() == "" {
			t.Run = ev.Run
		}
	case ponder.CallFinished:
		if t.writes(ev.Cause) {
			t.Run = ev.Run
		}
	case ponder.AssistantMessage:
		if strings.HasPrefix(ev.Cause, sayKey+t.number) {
			t.Run, t.Model = ev.Run, b.Model
			t.Answer = strings.TrimSpace(t.Answer + "\n\n" + strings.TrimSpace(b.Content))
		}
	case ponder.Progress:
		if b.Stage == chat.TurnEnded && b.Ref == t.Message {
			t.end(!b.Refused, b.Content)
		}
	case ponder.RunFinished:
		switch {
		case t.over() || ev.Run.Parent() != "":
		case t.Run == "":
			return true
		case ev.Run == t.Run:
			t.end(b.Status == ponder.Completed, b.Reason)
		}
	}
	return false
}

// end notes how the turn has ended.
func (t *turn) end(well bool, why string) {
	t.Status = answered
	if !well {
		t.Status, t.Error = failed, clip(why, 300)
	}
}
