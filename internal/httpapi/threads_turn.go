package httpapi

import (
	"ponder"
	"ponder/internal/textkit"
	"ponder/mode/chat"
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

// The statuses of a Turn.
const (
	answering = "answering"
	answered  = "answered"
	failed    = "failed"
)

// maxReason is how many bytes of the reason of a failure a Turn has.
const maxReason = 300

// turnOf returns a turn as clients are shown it.
func turnOf(v *chat.TurnView) Turn {
	t := Turn{Message: v.Message, Run: v.Run, Status: answering, Answer: v.Text.Stored()}
	if t.Answer != "" {
		t.Model = v.Model
	}
	switch {
	case v.Status == ponder.Completed:
		t.Status = answered
	case v.Over():
		t.Status, t.Error = failed, textkit.Truncate(textkit.OneLine(v.Reason), maxReason)
	}
	return t
}
