package ponder

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ponder"
	"ponder/sensor"
)

// States of a thread that was left alone.
const (
	stateUnanswered = "unanswered"
	stateFailed     = "failed"
	statePaused     = "paused"
)

// readNew reads new events of a thread. It returns false if the look is full; the next look
// continues from there.
func (l *threadReader) readNew(info ponder.Info, m *threadMark) (whole bool, err error) {
	for ev, err := range l.Store.Events(l.ctx, info.ID, m.Head) {
		if err != nil {
			return false, fmt.Errorf("thread %s: %w", info.ID, err)
		}
		if ev.Seq > info.Head { // appended after the listing
			break
		}
		if l.isFull() || l.read >= maxEvents {
			return false, nil
		}
		l.read++
		l.applyEvent(info, m, ev)
		m.Head = ev.Seq
	}
	m.Head = max(m.Head, info.Head)
	return true, nil
}

// applyEvent updates the mark by an event and reports notable ones.
func (l *threadReader) applyEvent(info ponder.Info, m *threadMark, ev ponder.Event) {
	if ev.Erased {
		return
	}
	if isUntrusted(ev) {
		m.Tainted = true
	}
	if ev.Internal {
		return
	}
	switch b := ev.Body.(type) {
	case ponder.UserMessage:
		l.observeMessage(info, m, ev, b)
	case ponder.AssistantMessage:
		l.clearQuestion(info, m)
	case ponder.Synthesis:
		if ev.Run.Parent() == "" {
			m.Synthesis = ev.Seq
		}
	case ponder.RunStarted:
		if ev.Run.Parent() == "" {
			m.Synthesis = 0
		}
	case ponder.RunFinished:
		if ev.Run.Parent() == "" && info.Kind != ponder.KindConversation && b.Status == ponder.Completed {
			l.reportFinished(info, m, ev)
		}
	}
}

// isUntrusted reports whether an event contains text of others.
func isUntrusted(ev ponder.Event) bool {
	switch b := ev.Body.(type) {
	case ponder.ToolResult:
		return b.Untrusted
	case ponder.Evidence:
		return b.Untrusted
	case ponder.Observation:
		return b.Untrusted
	case ponder.AttachmentAdded:
		return true
	}
	return false
}

// observeMessage handles a message of the user and reports its notable sentences.
func (l *threadReader) observeMessage(info ponder.Info, m *threadMark, ev ponder.Event, b ponder.UserMessage) {
	if info.Kind != ponder.KindConversation {
		return
	}
	l.clearQuestion(info, m)
	if hasQuestion(b.Content) {
		m.Asked, m.At = ev.Seq, ev.Time.Unix()
	}
	if !ev.Time.Before(l.since) {
		l.reportSentences(info, m, ev, notableSentences(b.Content, ev.Time.Local(), l.hasRecentPromise(ev.Time)))
	}
}

// reportSentences reports each sentence, as far as the look has room.
func (l *threadReader) reportSentences(info ponder.Info, m *threadMark, ev ponder.Event, parts []string) {
	if limit := max(1, min(maxParts, sensor.MaxLook-len(l.out))); len(parts) > limit {
		parts = append(slices.Clone(parts[:limit-1]), sensor.Line(strings.Join(parts[limit-1:], " "), maxReported))
	}
	for i, part := range parts {
		o := ponder.Observation{
			Content: part + " (The user said this" + inConversation(info, m) + ".)", Subject: subjectOf("message", info.ID, ev.Seq), State: "said", Source: threadSource(info.ID),
		}
		if isDone(part, ev.Time.Local()) {
			o.State = "done"
		}
		if i > 0 {
			o.Subject += "#" + strconv.Itoa(i+1)
		}
		if due, ok := sensor.FindDeadline(part, ev.Time.Local()); ok && due.After(l.now) {
			o.Due = due
		}
		l.addObservation(o)
		if o.State == "done" {
			continue
		}
		l.cursor.Promised = max(l.cursor.Promised, ev.Time.Unix())
	}
}

// hasRecentPromise reports whether a promise was reported recently.
func (l *threadReader) hasRecentPromise(at time.Time) bool {
	return l.cursor.Promised > 0 && at.Sub(time.Unix(l.cursor.Promised, 0)) < forgottenAfter
}

// clearQuestion clears the open question and, if its delay was reported, reports the answer.
func (l *threadReader) clearQuestion(info ponder.Info, m *threadMark) {
	if m.Reported == stateUnanswered {
		l.addObservation(ponder.Observation{Content: "The conversation" + quotedTitle(info) + " goes on.", Subject: subjectOf("message", info.ID, m.Asked), State: "answered", Source: threadSource(info.ID), Untrusted: m.Tainted})
		m.Reported = ""
	}
	m.Asked, m.At = 0, 0
}

// reportFinished reports the result of a session or research. The question is the user's; the
// findings of research are untrusted.
func (l *threadReader) reportFinished(info ponder.Info, m *threadMark, ev ponder.Event) {
	if ev.Time.Before(l.since) {
		return
	}
	text := map[ponder.Kind]string{ponder.KindResearch: "Research", ponder.KindSession: "A session of thinking"}[info.Kind]
	text += quotedTitle(info) + " has ended."
	found := ""
	if s, ok := l.findSynthesis(info.ID, m.Synthesis); ok {
		found = formatList(" It found: ", s.Insights) + formatList(" It leaves open: ", s.Remaining)
	}
	l.addObservation(ponder.Observation{
		Content: text + found, Subject: subjectOf("run", info.ID, ev.Seq), State: "completed", Source: threadSource(info.ID),
		Untrusted: m.Tainted || info.Kind == ponder.KindResearch && found != "",
	})
	m.Synthesis = 0
}

// formatList returns the first items of a list as a sentence, or "".
func formatList(before string, list []string) string {
	var parts []string
	for _, s := range list[:min(len(list), maxInsight)] {
		if s = strings.TrimRight(sensor.Line(s, 120), ".;"); s != "" {
			parts = append(parts, s)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	end := "."
	if strings.HasSuffix(parts[len(parts)-1], "?") {
		end = ""
	}
	return before + strings.Join(parts, "; ") + end
}

func (l *threadReader) findSynthesis(thread ponder.ThreadID, seq ponder.Seq) (s ponder.Synthesis, ok bool) {
	if seq == 0 {
		return s, false
	}
	ev, ok := l.eventAt(thread, seq)
	if ok {
		s, ok = ev.Body.(ponder.Synthesis)
	}
	return s, ok
}

func (l *threadReader) eventAt(thread ponder.ThreadID, seq ponder.Seq) (ponder.Event, bool) {
	for ev, err := range l.Store.Events(l.ctx, thread, seq-1) {
		return ev, err == nil && ev.Seq == seq && !ev.Erased
	}
	return ponder.Event{}, false
}

// reportLeftAlone reports once an unanswered question, or a failed or paused run, that is a day old.
func (l *threadReader) reportLeftAlone(info ponder.Info, m *threadMark) (whole bool, err error) {
	asked := time.Unix(m.At, 0)
	idle := l.now.Sub(info.Updated)
	switch {
	case m.Reported == stateUnanswered:
	case m.Reported != "":
		if m.Reported != string(info.Status) {
			m.Reported = ""
		}
	case m.Asked > 0 && l.now.Sub(asked) >= leftAloneAfter && l.now.Sub(asked) < forgottenAfter:
		if l.isFull() {
			return false, nil
		}
		m.Reported = stateUnanswered
		l.reportUnanswered(info, m)
	case idle >= leftAloneAfter && idle < forgottenAfter && (info.Status == ponder.Failed || info.Status == ponder.Paused):
		if l.isFull() {
			return false, nil
		}
		m.Reported = string(info.Status)
		verb := map[string]string{stateFailed: " failed", statePaused: " was paused"}[m.Reported]
		l.addObservation(ponder.Observation{
			Content: "The " + string(info.Kind) + quotedTitle(info) + verb + " and was left alone for a day.",
			Subject: subjectOf("run", info.ID, info.Head), State: m.Reported, Level: 4, Source: threadSource(info.ID), Untrusted: m.Tainted,
		})
	}
	return true, nil
}

// reportUnanswered reports a question without an answer for a day.
func (l *threadReader) reportUnanswered(info ponder.Info, m *threadMark) {
	text := "A question of the user" + inConversation(info, m) + " has had no answer for a day."
	if ev, ok := l.eventAt(info.ID, m.Asked); ok {
		if b, ok := ev.Body.(ponder.UserMessage); ok {
			text = joinQuestions(b.Content) + " (The user asked this" + inConversation(info, m) + ", and has had no answer for a day.)"
		}
	}
	l.addObservation(ponder.Observation{Content: text, Subject: subjectOf("message", info.ID, m.Asked), State: stateUnanswered, Level: 4, Source: threadSource(info.ID)})
}

// quotedTitle returns the title of a thread in quotes, or "".
func quotedTitle(info ponder.Info) string {
	if title := sensor.Line(info.Title, 80); title != "" {
		return " \u201c" + title + "\u201d"
	}
	return ""
}

// inConversation names the conversation. It omits the title of a tainted thread, which others may
// have written.
func inConversation(info ponder.Info, m *threadMark) string {
	if m.Tainted || info.Title == "" {
		return " in a conversation"
	}
	return " in the conversation" + quotedTitle(info)
}

func subjectOf(kind string, thread ponder.ThreadID, seq ponder.Seq) string {
	return kind + ":" + string(thread) + "/" + strconv.FormatInt(int64(seq), 10)
}

func threadSource(thread ponder.ThreadID) string { return "thread:" + string(thread) }
