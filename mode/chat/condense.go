package chat

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"ponder"
	"ponder/llm"
)

const (
	maxSummaryBytes  = 6000 // bytes
	maxSummaryTokens = 1200 // tokens of an answer

	summaryTokenShare = 6 // the divisor of the window for the answer
)

// condensation is the state of condensation, which never delays a turn.
type condensation struct {
	Turns condensedPart `json:"turns,omitzero"`
	Notes condensedPart `json:"notes,omitzero"`
}

// condensedPart is one condensation: everything up to an event.
type condensedPart struct {
	To   ponder.Seq `json:"to,omitempty"`
	Done bool       `json:"done,omitempty"`
	Text string     `json:"text,omitempty"` // the result; empty if it failed

	Room   int `json:"room,omitempty"`   // bytes of the request, after the model refused more
	Refits int `json:"refits,omitempty"` // refused requests
}

func (p condensedPart) actionKey(what string) string {
	return what + "-" + strconv.FormatInt(int64(p.To), 10)
}

// callKey returns the key of the call for the result.
func (p condensedPart) callKey(what string) string {
	key := p.actionKey(what)
	if p.Refits > 0 {
		key += "-" + strconv.Itoa(p.Refits+1)
	}
	return key
}

func (s *state) planCondensation() {
	size, notes := s.Size, 0
	if s.Condensed.Turns.To == 0 && len(s.Turns) > 1 && size+len(s.Summary) > s.shareBytes(fullShare) {
		half := 0
		for i, t := range s.Turns[:len(s.Turns)-1] {
			if half += t.byteSize(); half >= size/2 || i == len(s.Turns)-2 {
				s.Condensed.Turns = condensedPart{To: t.Message.Seq}
				break
			}
		}
	}
	for _, n := range s.Notes {
		notes += len(n.Text)
	}
	if s.Condensed.Notes.To == 0 && len(s.Notes) > 1 && notes > s.opts.MaxNotes {
		s.Condensed.Notes = condensedPart{To: s.Notes[len(s.Notes)-1].Seq}
	}
}

func (s *state) condenseActions() (do []ponder.Action) {
	switch p := s.Condensed.Turns; {
	case p.To == 0:
	case p.Done:
		b := ponder.Summary{Content: p.Text, From: 1, To: p.To}
		if b.Content == "" {
			b.Content = strings.TrimSpace(s.Summary + "\n(What was said after that is left out here.)")
		}
		do = append(do, ponder.Write{Key: p.actionKey("summed"), Internal: true, Bodies: []ponder.Body{b}})
	default:
		do = append(do, s.condenseCall(p, "condense", condensePrompt, s.turnsText(p.To)))
	}
	switch p := s.Condensed.Notes; {
	case p.To == 0:
	case p.Done:
		do = append(do, ponder.Write{Key: p.actionKey("noted"), Bodies: []ponder.Body{s.mergeNotes(p)}})
	default:
		do = append(do, s.condenseCall(p, "notes", notesPrompt, s.notesText(p.To)))
	}
	return do
}

func (s *state) condenseCall(p condensedPart, what, task, text string) ponder.Action {
	system := strings.TrimSpace(task + "\n" + s.opts.Locale.Describe(s.run.Started))
	most := s.shareBytes(requestShare) / 2
	if p.Room > 0 {
		most = min(most, max(p.Room-len(system), minCutText))
	}
	return ponder.Call{Key: p.callKey(what), Role: s.opts.CondenserRole, Request: llm.Request{
		System: system, Messages: []llm.Message{llm.Say(llm.User, truncateMiddle(text, most))},
		MaxTokens: min(maxSummaryTokens, s.opts.Window/summaryTokenShare), Background: true,
	}}
}

// applyCondensation applies the answer of a condensation and reports whether key is one.
func (s *state) applyCondensation(key string, b ponder.CallFinished) bool {
	for what, p := range map[string]*condensedPart{"condense": &s.Condensed.Turns, "notes": &s.Condensed.Notes} {
		if p.To > 0 && key == p.callKey(what) {
			if b.Class == llm.TooLong && b.Room > 0 && p.Refits < maxRefits {
				p.Room, p.Refits = b.Room, p.Refits+1
				return true
			}
			p.Done = true
			if b.Error == "" && !b.Finish.IsCut() {
				p.Text = truncateMiddle(strings.TrimSpace(b.Message.Text()), maxSummaryBytes)
			}
			return true
		}
	}
	return strings.HasPrefix(key, "condense-") || strings.HasPrefix(key, "notes-")
}

func (s *state) applySummary(b ponder.Summary) {
	s.Summary, s.Summed, s.Condensed.Turns = b.Content, b.To, condensedPart{}
	i := 0
	for i < len(s.Turns) && s.Turns[i].Message.Seq <= b.To {
		i++
	}
	s.dropTurns(i)
	s.Left = 0
}

// Limits of turns kept until condensed. An imported thread may have any number.
const (
	maxKeptTurns = 1000
	maxKeptShare = 2 // of the window
)

// pushTurn adds an ended turn. Beyond the limits it drops the older half without a summary.
func (s *state) pushTurn(t Turn) {
	s.appendTurn(t)
	s.Size += t.byteSize()
	if len(s.Turns) <= maxKeptTurns && s.Size <= s.opts.windowBytes(maxKeptShare) {
		return
	}
	i, size := len(s.Turns), 0
	for i > 0 && len(s.Turns)-i < maxKeptTurns/2 {
		if size += s.Turns[i-1].byteSize(); size > s.opts.windowBytes(maxKeptShare)/2 && i < len(s.Turns) {
			break
		}
		i--
	}
	s.dropTurns(i)
	s.Left += i
}

// appendTurn appends a turn. Versions of a state share one array: the first version to append to a
// prefix writes in place, others copy. So n turns cost O(n), not O(n * turns kept).
func (s *state) appendTurn(t Turn) {
	n := len(s.Turns)
	if n == cap(s.Turns) || s.tip == nil || !s.tip.CompareAndSwap(int64(n), int64(n+1)) {
		s.Turns = append(make([]Turn, 0, n+n/4+4), s.Turns...)
		s.tip = new(atomic.Int64)
		s.tip.Store(int64(n + 1))
	}
	s.Turns = append(s.Turns, t)
}

func (s *state) dropTurns(n int) {
	for _, t := range s.Turns[:n] {
		s.Size -= t.byteSize()
		if text := strings.TrimSpace(t.Message.Text); strings.HasPrefix(text, "/") {
			s.Command = text
		}
	}
	s.Turns, s.tip = slices.Clone(s.Turns[n:]), nil
}

func (s *state) turnsText(to ponder.Seq) string {
	var b strings.Builder
	if s.Summary != "" {
		fmt.Fprintf(&b, "Before that, in short: %s\n\n", s.Summary)
	}
	for _, t := range s.Turns {
		if t.Message.Seq <= to {
			fmt.Fprintf(&b, "User: %s\n\nAssistant: %s\n\n", t.Message.Text, strings.Join(t.Answer, "\n\n"))
		}
	}
	return b.String()
}

func (s *state) notesText(to ponder.Seq) string {
	var b strings.Builder
	for _, n := range s.Notes {
		if n.Seq <= to {
			b.WriteString(n.Text + "\n\n")
		}
	}
	return b.String()
}

// mergeNotes returns the reflection that replaces several. Without a model's text it is the end of
// theirs.
func (s *state) mergeNotes(p condensedPart) ponder.Body {
	b := ponder.InnerMonologue{Content: p.Text, Tool: "condense", Reason: "reflections were condensed"}
	for _, n := range s.Notes {
		if n.Seq <= p.To {
			b.Condenses, b.ReadTo = append(b.Condenses, n.Seq), max(b.ReadTo, n.ReadTo)
		}
	}
	if b.Content == "" {
		text := s.notesText(p.To)
		b.Content = strings.ToValidUTF8(text[max(0, len(text)-s.opts.MaxNotes/2):], "")
	}
	return b
}
