package ways

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"

	"ponder"
	"ponder/internal/compat"
	"ponder/internal/steering"
	"ponder/internal/textkit"
)

const maxReport = 1 << 20 // bytes

// Apply applies a command that is no way to a job, and returns a reply for the user.
func Apply(ctx context.Context, d *compat.Dispatcher, w compat.Job, c Command) (reply string, err error) {
	switch c.Name {
	case Pause:
		return "Paused. /resume continues.", d.Pause(ctx, w, "paused by the user")
	case Resume:
		return "Continued.", d.Resume(ctx, w)
	case Cancel:
		return "Cancelled.", d.Cancel(ctx, w)
	case Answer:
		return "The answer follows soon.", d.Steer(ctx, w, "", "text", steering.Request{Order: ponder.AnswerNow})
	case Tell:
		return "Noted.", d.Steer(ctx, w, "", "text", steering.Request{Order: ponder.Correct, Content: c.Text})
	case Question:
		return "The question is added.", d.Steer(ctx, w, "", "text", compat.AddQuestion(c.Text))
	case Steer:
		return d.SteerSentence(ctx, w, "text", c.Text, false)
	case Undo:
		return d.SteerSentence(ctx, w, "text", string(steering.Undo), false)
	case Status:
		return statusText(ctx, d, w)
	case Report:
		return reportText(ctx, d, w)
	}
	return "", compat.InvalidField("command", "command: there is no /%s; use one of /pause, /resume, /cancel, /answer, /tell, /question, /steer, /undo, /status, /report", textkit.TruncateBytes(c.Name, 40))
}

// Follow steers a running session or research by a message without a command: a question is added, another sentence
// is interpreted, and a yes or no answers a waiting plan.
func Follow(ctx context.Context, d *compat.Dispatcher, w compat.Job, text string) (reply string, err error) {
	if c, ok := ParseCommand(text); ok {
		return Apply(ctx, d, w, c)
	}
	state, err := ReadState(ctx, d, w)
	switch {
	case err != nil:
		return "", err
	case state.PlanWaits && IsYes(text):
		return Apply(ctx, d, w, Command{Name: Resume})
	case state.PlanWaits && isNo(text):
		return Apply(ctx, d, w, Command{Name: Cancel})
	case strings.HasSuffix(strings.TrimSpace(text), "?"):
		return Apply(ctx, d, w, Command{Name: Question, Text: text})
	}
	return Apply(ctx, d, w, Command{Name: Steer, Text: text})
}

// IsYes reports whether a text is a plain yes.
func IsYes(text string) bool {
	switch strings.ToLower(strings.Trim(strings.TrimSpace(text), ".! ")) {
	case "yes", "y", "ok", "okay", "approve", "approved", "go ahead", "ja", "oui", "sí":
		return true
	}
	return false
}

func isNo(text string) bool {
	switch strings.ToLower(strings.Trim(strings.TrimSpace(text), ".! ")) {
	case "no", "n", "reject", "rejected", "cancel", "nein", "non":
		return true
	}
	return false
}

// A State is the state of a job.
type State struct {
	Status    ponder.Status
	PlanWaits bool   // its plan waits for approval
	Reason    string // of a pause
	Plan      string
	Thoughts  int
	Questions []string
	Interim   string // the newest early answer
	Parts     []compat.Part
	End       compat.End
}

const maxQuestions = 50

// ReadState folds the log of a job.
func ReadState(ctx context.Context, d *compat.Dispatcher, w compat.Job) (s State, err error) {
	s.Parts, s.End, err = d.Result(ctx, w)
	if err != nil {
		return s, err
	}
	s.Status = s.End.Status
	for _, p := range s.Parts {
		s = s.apply(p)
	}
	if s.Status.Ended() || s.Status != ponder.Paused {
		s.PlanWaits, s.Reason = false, ""
	}
	return s, nil
}

func (s State) apply(p compat.Part) State {
	switch p.Kind {
	case compat.Thought:
		if p.Stage == "plan" {
			s.Plan = p.Text
		} else {
			s.Thoughts++
		}
	case compat.Question:
		if len(s.Questions) < maxQuestions {
			s.Questions = append(s.Questions, p.Text)
		}
	case compat.Interim:
		s.Interim = p.Text
	case compat.Paused:
		s.PlanWaits, s.Reason = p.Stage == "plan", p.Text
	case compat.Resumed:
		s.PlanWaits, s.Reason = false, ""
	}
	return s
}

func statusText(ctx context.Context, d *compat.Dispatcher, w compat.Job) (string, error) {
	s, err := ReadState(ctx, d, w)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s is %s", WayOf(w.Kind).Name, w.ID(), s.Status)
	if s.Reason != "" {
		fmt.Fprintf(&b, " (%s)", s.Reason)
	}
	fmt.Fprintf(&b, ": %s, %s.", textkit.Count(s.Thoughts, "thought", "thoughts"), textkit.Count(len(s.Questions), "question", "questions"))
	if s.PlanWaits {
		b.WriteString("\n\n" + s.Plan)
	}
	if text := cmp.Or(s.End.Text, s.Interim); text != "" {
		b.WriteString("\n\n" + text)
	}
	return b.String(), nil
}

func reportText(ctx context.Context, d *compat.Dispatcher, w compat.Job) (string, error) {
	if w.Kind != compat.Session && w.Kind != compat.Research {
		return "", &compat.APIError{Status: http.StatusConflict, Detail: "a conversation has no report: use it after /session or /research"}
	}
	doc, err := d.Service.Report(ctx, w.Thread, "markdown")
	return textkit.TruncateBytes(string(doc.Body), maxReport), err
}
