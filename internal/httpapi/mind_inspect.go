package httpapi

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/mindlog"
)

func (a *api) registerMindInspect() {
	op := func(scope auth.Scope, method, path, id, summary string, errs ...int) huma.Operation {
		return a.newOperation(scope, method, path, id, summary, tagMind, append(errs, http.StatusNotFound)...)
	}
	huma.Register(a.huma, op(auth.Read, http.MethodGet, "/api/mind/entries/{id}", "explain-entry", "Show the observations, findings and decisions behind an entry"), a.explainEntry)
	huma.Register(a.huma, op(auth.Think, http.MethodPost, "/api/mind/rollback", "roll-back-mind", "Restore the entries from before a tick", http.StatusBadRequest), a.rollBackMind)
	huma.Register(a.huma, op(auth.Read, http.MethodGet, "/api/mind/sensors", "list-sensors", "Show the health of the sensors"), a.listSensors)
	huma.Register(a.huma, op(auth.Admin, http.MethodPost, "/api/mind/sensors/test", "test-sensors", "Let each sensor look once, without storing anything"), a.testSensors)
	huma.Register(a.huma, op(auth.Read, http.MethodGet, "/api/mind/inbox", "list-inbox", "List the escalations of the subconscious, newest first"), a.listInbox)
	answer := op(auth.Think, http.MethodPost, "/api/mind/inbox/{id}", "answer-escalation", "Talk about an escalation, think about it, remember it or dismiss it", http.StatusBadRequest, http.StatusConflict)
	answer.Description = "`message` starts a conversation about the escalation, `act` a session, `remember` stores it as a memory, and `dismiss` settles its topic until new facts appear."
	huma.Register(a.huma, answer, a.answerEscalation)
}

// A visibleLog is a log without internal events.
type visibleLog struct{ ponder.Log }

func (l visibleLog) Events(ctx context.Context, thread ponder.ThreadID, after ponder.Seq) iter.Seq2[ponder.Event, error] {
	return func(yield func(ponder.Event, error) bool) {
		for ev, err := range l.Log.Events(ctx, thread, after) {
			if err == nil && ev.Internal {
				continue
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// readMindLog reads the caller's subconscious without internal events and paths of the server.
func (a *api) readMindLog(ctx context.Context) (*mindlog.Log, error) {
	m, err := mindlog.ReadOwner(ctx, visibleLog{a.Store}, auth.CallerOf(ctx).Owner)
	if errors.Is(err, mindlog.ErrNone) {
		return nil, huma.Error404NotFound("the subconscious has no events yet: POST /api/mind/tick")
	}
	if err != nil {
		return nil, a.apiError(err)
	}
	return m, nil
}

type entryPath struct {
	ID string `path:"id" maxLength:"100" doc:"ID of an entry, such as e3"`
}

// An ExplainedEntry is an entry with the events behind it, oldest first.
type ExplainedEntry struct {
	MindEntry
	Category string           `json:"category,omitempty" doc:"absent for removed entries"`
	Events   []mindlog.Reason `json:"events" nullable:"false"`
}

type explainOutput struct {
	Body struct {
		Success     bool           `json:"success"`
		Explanation ExplainedEntry `json:"explanation"`
	}
}

func (a *api) explainEntry(ctx context.Context, in *entryPath) (*explainOutput, error) {
	m, err := a.readMindLog(ctx)
	if err != nil {
		return nil, err
	}
	x, err := m.Explain(in.ID, time.Now())
	if err != nil {
		return nil, a.apiErrorIn("path", err)
	}
	out := &explainOutput{}
	out.Body.Success = true
	out.Body.Explanation = ExplainedEntry{MindEntry{x.ID, x.Summary, x.Strength, x.Created, x.LastSeen}, string(x.List), append([]mindlog.Reason{}, x.Events...)}
	return out, nil
}

type rollBackInput struct {
	Body struct {
		Tick int `json:"tick" minimum:"1" doc:"number of a tick" example:"12"`
	}
}

func (a *api) rollBackMind(ctx context.Context, in *rollBackInput) (*doneOutput, error) {
	all, err := a.appOf(ctx)
	if err != nil {
		return nil, err
	}
	row, err := mindlog.Rollback(ctx, all, in.Body.Tick)
	if errors.Is(err, mindlog.ErrNone) {
		return nil, huma.Error404NotFound("the subconscious has no events yet: POST /api/mind/tick")
	}
	if err != nil {
		return nil, a.apiError(err)
	}
	out := &doneOutput{}
	out.Body.Success, out.Body.Message = true, row.Said()
	return out, nil
}

// A Sensor is the state of a sensor.
type Sensor struct {
	Name         string     `json:"sensor"`
	Looked       *time.Time `json:"looked_at,omitempty" doc:"last successful look"`
	Error        string     `json:"error,omitempty"`
	Fails        int        `json:"failures" doc:"in a row"`
	Stored       int        `json:"observations" doc:"stored since the start of the server"`
	Observations []string   `json:"sees,omitempty" doc:"of a test"`
}

type sensorsOutput struct {
	Body struct {
		Success bool     `json:"success"`
		Sensors []Sensor `json:"sensors" nullable:"false" doc:"none before the first tick on this server"`
	}
}

func (a *api) listSensors(ctx context.Context, _ *struct{}) (*sensorsOutput, error) {
	out := &sensorsOutput{}
	out.Body.Success, out.Body.Sensors = true, []Sensor{}
	reporter, ok := a.Service.(app.SensorReporter)
	if !ok {
		return out, nil
	}
	for _, s := range reporter.SensorStates(auth.CallerOf(ctx).Owner) {
		one := Sensor{Name: s.Sensor, Error: s.Error, Fails: s.Fails, Stored: s.Stored}
		if !s.LastRead.IsZero() {
			one.Looked = &s.LastRead
		}
		out.Body.Sensors = append(out.Body.Sensors, one)
	}
	return out, nil
}

func (a *api) testSensors(ctx context.Context, _ *struct{}) (*sensorsOutput, error) {
	all, err := a.appOf(ctx)
	if err != nil {
		return nil, err
	}
	if all.Owner() != app.LocalOwner { // only the local user has sensors of this machine
		return nil, huma.Error404NotFound("the sensors of this machine belong to the owner " + app.LocalOwner)
	}
	list, err := all.TrySensors(ctx, time.Now())
	if err != nil {
		return nil, a.apiError(err)
	}
	out := &sensorsOutput{}
	out.Body.Success, out.Body.Sensors = true, []Sensor{}
	for _, t := range list {
		out.Body.Sensors = append(out.Body.Sensors, Sensor{Name: t.Sensor, Error: t.Error, Observations: t.Lines})
	}
	return out, nil
}

// An InboxItem is an escalation with the decision of Ponder.
type InboxItem struct {
	ID         string     `json:"id"`
	At         time.Time  `json:"at"`
	Summary    string     `json:"summary"`
	Reason     string     `json:"reason"`
	Importance int        `json:"importance"`
	Entries    []string   `json:"entries" nullable:"false"`
	Sources    []string   `json:"sources" nullable:"false"`
	Untrusted  bool       `json:"untrusted" doc:"text of strangers is behind it"`
	Outcome    string     `json:"outcome,omitempty" doc:"message, act, remember or dismiss; absent before the decision"`
	Text       string     `json:"text,omitempty" doc:"message to the user, or reason of the dismissal"`
	Decided    *time.Time `json:"decided_at,omitempty"`
	Settled    *time.Time `json:"settled_at,omitempty" doc:"when the user dismissed it"`
}

func (a *api) inboxOf(ctx context.Context) ([]InboxItem, error) {
	m, err := a.readMindLog(ctx)
	if isMissing(err) {
		return []InboxItem{}, nil
	}
	if err != nil {
		return nil, err
	}
	list, settled := []InboxItem{}, make(map[string]time.Time)
	for _, row := range m.Rows() {
		if row.Entry != "" {
			settled[row.Entry] = row.At
		}
		for _, e := range row.Escalated {
			one := InboxItem{ID: e.ID, At: row.At, Summary: e.Summary, Reason: e.Reason, Importance: e.Importance, Entries: append([]string{}, e.Entries...),
				Sources: append([]string{}, e.Sources...), Untrusted: e.Untrusted, Outcome: e.Outcome, Text: e.Told}
			if !e.Decided.IsZero() {
				one.Decided = &e.Decided
			}
			list = append(list, one)
		}
	}
	for i := range list {
		if at, ok := settled[list[i].ID]; ok {
			list[i].Settled = &at
		}
	}
	slices.Reverse(list)
	return list, nil
}

type inboxOutput struct {
	Body struct {
		Success bool        `json:"success"`
		Count   int         `json:"escalation_count"`
		Items   []InboxItem `json:"escalations" nullable:"false"`
	}
}

func (a *api) listInbox(ctx context.Context, _ *struct{}) (*inboxOutput, error) {
	list, err := a.inboxOf(ctx)
	if err != nil {
		return nil, err
	}
	out := &inboxOutput{}
	out.Body.Success, out.Body.Count, out.Body.Items = true, len(list), list
	return out, nil
}

type answerInput struct {
	ID string `path:"id" maxLength:"200" doc:"ID of an escalation"`
	OnceKey
	Body struct {
		Do      string `json:"do" enum:"message,act,remember,dismiss" example:"dismiss"`
		Content string `json:"content,omitempty" maxLength:"20000" doc:"message, question or text instead of the summary"`
	}
}

// An InboxAnswer names the result of an answer.
type InboxAnswer struct {
	Success bool            `json:"success"`
	Done    string          `json:"done"`
	Thread  ponder.ThreadID `json:"thread_id,omitempty" doc:"the conversation or the session"`
	Memory  string          `json:"memory_id,omitempty"`
}

type answerOutput struct{ Body InboxAnswer }

func (a *api) answerEscalation(ctx context.Context, in *answerInput) (*answerOutput, error) {
	list, err := a.inboxOf(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(e InboxItem) bool { return e.ID == in.ID })
	if i < 0 {
		return nil, huma.Error404NotFound("no such escalation: see /api/mind/inbox")
	}
	e, owner := list[i], auth.CallerOf(ctx).Owner
	text := cmp.Or(strings.TrimSpace(in.Body.Content), e.Summary)
	out := &answerOutput{InboxAnswer{Success: true, Done: in.Body.Do}}
	id := in.threadID(owner, "inbox "+in.Body.Do+" "+e.ID)
	switch in.Body.Do {
	case "message":
		out.Body.Thread, err = a.talkAbout(ctx, owner, id, e, in)
	case "act":
		out.Body.Thread = id
		err = a.Service.Begin(ctx, owner, id, Start{Kind: ponder.KindSession, Question: text, Context: e.Summary + "\n" + e.Reason})
	case "remember":
		var kept []Memory
		if kept, err = a.Service.Remember(ctx, owner, Memory{Text: text, Source: "ponder", ExternalID: e.ID}); err == nil && len(kept) > 0 {
			out.Body.Memory = kept[0].ID
		}
	case "dismiss":
		_, err = a.appendResolved(ctx, in.OnceKey, "inbox dismiss "+e.ID, ponder.Resolution{Content: e.Summary, Ref: e.ID})
	}
	if errors.Is(err, ponder.ErrTaken) && in.Key != "" {
		err = nil // repeated
	}
	if err != nil {
		return nil, a.apiError(err)
	}
	return out, nil
}

// talkAbout starts a conversation about an escalation.
func (a *api) talkAbout(ctx context.Context, owner string, id ponder.ThreadID, e InboxItem, in *answerInput) (ponder.ThreadID, error) {
	if err := a.Service.Open(ctx, owner, id, Conversation{Title: e.Summary}); err != nil {
		return id, err
	}
	info, err := a.ownedConversation(ctx, string(id))
	if err != nil {
		return id, err
	}
	said := "You noticed: " + e.Summary
	if e.Reason != "" {
		said += "\nWhy it matters: " + e.Reason
	}
	said += "\n\n" + cmp.Or(strings.TrimSpace(in.Body.Content), "Tell me more about it.")
	_, err = a.Service.Say(ctx, info, in.causeKey(owner, "message "+string(id)), Message{UserMessage: ponder.UserMessage{Content: said}})
	return id, err
}
