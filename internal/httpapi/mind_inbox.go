package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/mindlog"
	"ponder/internal/textkit"
)

func (a *api) registerInbox() {
	const missing, wrong = http.StatusNotFound, http.StatusUnprocessableEntity
	op := func(scope auth.Scope, method, path, id, summary string, errs ...int) huma.Operation {
		return a.newOperation(scope, method, path, id, summary, tagMind, errs...)
	}
	huma.Register(a.huma, op(auth.Read, http.MethodGet, "/api/mind/entries/{entry}", "explain-entry", "Show the events behind an entry", missing, wrong), a.explainEntry)
	huma.Register(a.huma, op(auth.Think, http.MethodPost, "/api/mind/rollback", "roll-back-mind", "Restore the entries from before a tick", missing, wrong), a.rollBackMind)
	huma.Register(a.huma, op(auth.Read, http.MethodGet, "/api/mind/inbox", "list-inbox", "List escalations with their decisions, newest first"), a.listInbox)
	answer := op(auth.Think, http.MethodPost, "/api/mind/inbox/{id}", "answer-escalation", "Answer an escalation", missing, wrong)
	answer.Description = "`message` opens a conversation, `act` starts a session of five minutes, `remember` stores a memory, and `dismiss` makes similar findings need more importance. " +
		"An escalation that rests on text of strangers needs your own `content` for `act` and `remember`."
	huma.Register(a.huma, answer, a.answerEscalation)
	huma.Register(a.huma, op(auth.Read, http.MethodGet, "/api/mind/sensors", "list-sensors", "List the sensors with their health"), a.listSensors)
	test := op(auth.Admin, http.MethodPost, "/api/mind/sensors/test", "test-sensors", "Let each sensor look once, and store nothing", missing)
	huma.Register(a.huma, test, a.testSensors)
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

// readMindLog reads the caller's subconscious without internal events.
func (a *api) readMindLog(ctx context.Context) (*mindlog.Log, ponder.Info, error) {
	info, err := a.mindThread(ctx)
	if err != nil {
		return nil, info, err
	}
	m, err := mindlog.ReadThread(ctx, visibleLog{a.Store}, info.ID)
	return m, info, a.apiError(err)
}

type entryPath struct {
	Entry string `path:"entry" maxLength:"100" doc:"ID of a present or former entry, or a unique prefix"`
}

type explainOutput struct {
	Body struct {
		Success     bool                `json:"success"`
		Explanation mindlog.Explanation `json:"explanation"`
	}
}

func (a *api) explainEntry(ctx context.Context, in *entryPath) (*explainOutput, error) {
	m, _, err := a.readMindLog(ctx)
	if err != nil {
		return nil, err
	}
	x, err := m.Explain(in.Entry, a.views.now())
	if err != nil {
		return nil, a.apiErrorIn("path", err)
	}
	out := &explainOutput{}
	out.Body.Success, out.Body.Explanation = true, x
	return out, nil
}

type rollbackInput struct {
	OnceKey
	Body struct {
		Tick int `json:"tick" minimum:"1" doc:"number of the first tick to undo"`
	}
}

type rollbackOutput struct {
	Body struct {
		Success bool    `json:"success"`
		Row     MindRow `json:"row"`
	}
}

func (a *api) rollBackMind(ctx context.Context, in *rollbackInput) (*rollbackOutput, error) {
	owner, out := auth.CallerOf(ctx).Owner, &rollbackOutput{}
	row, err := a.runOnce(ctx, onceID{owner, "POST /api/mind/rollback", in.Key}, bodyDigest(in.Body), func() (string, error) {
		if _, err := a.mindThread(ctx); err != nil {
			return "", err
		}
		service, ok := a.Service.(app.MindService)
		if !ok {
			return "", huma.Error404NotFound("this server has no subconscious")
		}
		ev, err := service.RollBack(ctx, owner, in.Body.Tick)
		if err != nil {
			return "", err
		}
		row, _ := mindRowOf(ev)
		js, err := json.Marshal(row)
		return string(js), err
	})
	if err == nil {
		err = json.Unmarshal([]byte(row), &out.Body.Row)
	}
	if err != nil {
		return nil, a.apiError(err)
	}
	out.Body.Success = true
	return out, nil
}

type inboxOutput struct {
	Body struct {
		Success     bool                `json:"success"`
		Escalations []mindlog.InboxItem `json:"escalations" nullable:"false"`
	}
}

func (a *api) listInbox(ctx context.Context, _ *struct{}) (*inboxOutput, error) {
	out := &inboxOutput{}
	out.Body.Success, out.Body.Escalations = true, []mindlog.InboxItem{}
	m, _, err := a.readMindLog(ctx)
	var answered huma.StatusError
	if errors.As(err, &answered) && answered.GetStatus() == http.StatusNotFound {
		return out, nil // no tick yet
	}
	if err != nil {
		return nil, err
	}
	out.Body.Escalations = m.Inbox()
	return out, nil
}

type answerInput struct {
	OnceKey
	ID   string `path:"id" maxLength:"200" doc:"ID of an escalation"`
	Body answerBody
}

type answerBody struct {
	Do      string `json:"do" enum:"message,act,remember,dismiss" doc:"what to do about it"`
	Content string `json:"content,omitempty" maxLength:"20000" doc:"your words: the first message, the question of the session, or the memory"`
}

type answerOutput struct {
	Body answeredBody
}

type answeredBody struct {
	Success bool            `json:"success"`
	Done    string          `json:"done" enum:"message,act,remember,dismiss"`
	Thread  ponder.ThreadID `json:"thread_id,omitempty" doc:"the new conversation or session"`
	Memory  string          `json:"memory_id,omitempty" doc:"the new memory"`
}

// Limits of a session about an escalation, as of the action think_about.
const (
	inboxTime   = 5 * time.Minute
	inboxTokens = 100_000
)

const answerRoute = "POST /api/mind/inbox/{id}"

func (a *api) answerEscalation(ctx context.Context, in *answerInput) (*answerOutput, error) {
	owner := auth.CallerOf(ctx).Owner
	in.Body.Content = strings.TrimSpace(compat.Plain(in.Body.Content))
	answer, err := a.runOnce(ctx, onceID{owner, answerRoute, in.Key}, bodyDigest([]any{in.ID, in.Body}), func() (string, error) {
		m, info, err := a.readMindLog(ctx)
		if err != nil {
			return "", err
		}
		for _, e := range m.Inbox() {
			if e.ID == in.ID {
				return a.answerItem(context.WithoutCancel(ctx), info, in, e)
			}
		}
		return "", huma.Error404NotFound("no escalation has the ID " + textkit.Truncate(textkit.OneLine(in.ID), 40) + ": see /api/mind/inbox")
	})
	out := &answerOutput{}
	if err == nil {
		err = json.Unmarshal([]byte(answer), &out.Body)
	}
	if err != nil {
		return nil, a.apiError(err)
	}
	return out, nil
}

// answerItem carries out an answer, records it, and returns the answer of the request.
func (a *api) answerItem(ctx context.Context, mind ponder.Info, in *answerInput, e mindlog.InboxItem) (string, error) {
	done := answeredBody{Success: true, Done: in.Body.Do}
	if e.Untrusted && in.Body.Content == "" && (in.Body.Do == "act" || in.Body.Do == "remember") {
		return "", app.Invalidf("content", "it rests on text of strangers: write the content in your own words")
	}
	title, text := textkit.Truncate(e.Summary, 80), cmp.Or(in.Body.Content, e.Summary)
	id := in.threadID(mind.Owner, answerRoute)
	var err error
	switch in.Body.Do {
	case "message":
		done.Thread, err = id, a.openAbout(ctx, mind.Owner, id, title, in.Body.Content)
	case "act":
		done.Thread, err = id, a.Service.Begin(ctx, mind.Owner, id, Start{Kind: ponder.KindSession, Question: text, Title: title, Budget: ponder.Budget{Cost: ponder.Cost{Tokens: inboxTokens}, Time: inboxTime}})
		if errors.Is(err, ponder.ErrTaken) && in.Key != "" {
			err = nil // an interrupted request started it
		}
	case "remember":
		var kept []Memory
		if kept, err = a.Service.Remember(ctx, mind.Owner, Memory{Kind: "memory", Text: text}); err == nil && len(kept) > 0 {
			done.Memory = kept[0].ID
		}
	}
	if err != nil {
		return "", err
	}
	_, err = a.Store.Append(ctx, mind.ID, 0, ponder.Event{Cause: in.causeKey(mind.Owner, answerRoute),
		Body: ponder.Resolution{Ref: e.ID, As: in.Body.Do, Content: cmp.Or(string(done.Thread), done.Memory)}})
	if err != nil && !errors.Is(err, ponder.ErrTaken) { // repeated
		return "", fmt.Errorf("record the answer: %w", err)
	}
	js, err := json.Marshal(done)
	return string(js), err
}

// openAbout opens a conversation and sends its first message, if any.
func (a *api) openAbout(ctx context.Context, owner string, id ponder.ThreadID, title, message string) error {
	if err := a.Service.Open(ctx, owner, id, Conversation{Title: title}); err != nil && !errors.Is(err, ponder.ErrTaken) {
		return err
	}
	if message == "" {
		return nil
	}
	info, err := a.Store.Thread(ctx, id)
	if err != nil {
		return err
	}
	_, err = a.Service.Say(ctx, info, "inbox-"+string(id), Message{UserMessage: ponder.UserMessage{Content: message}})
	if errors.Is(err, ponder.ErrTaken) {
		return nil
	}
	return err
}

// A MindSensor is the status of a sensor.
type MindSensor struct {
	Sensor string     `json:"sensor"`
	Looked *time.Time `json:"looked,omitempty" doc:"time of its last successful look, or of its newest observation"`
	Error  string     `json:"error,omitempty" doc:"error of its last look, if it failed"`
	Fails  int        `json:"fails" doc:"consecutive failures"`
	Told   int        `json:"told" doc:"observations since the start of the server"`
}

type sensorsOutput struct {
	Body struct {
		Success bool         `json:"success"`
		Sensors []MindSensor `json:"sensors" nullable:"false"`
	}
}

func (a *api) listSensors(ctx context.Context, _ *struct{}) (*sensorsOutput, error) {
	out := &sensorsOutput{}
	out.Body.Success, out.Body.Sensors = true, []MindSensor{}
	service, ok := a.Service.(app.MindService)
	if !ok {
		return out, nil
	}
	list, err := service.Sensors(ctx, auth.CallerOf(ctx).Owner)
	if err != nil {
		return nil, a.apiError(err)
	}
	newest := make(map[string]time.Time)
	if m, _, err := a.readMindLog(ctx); err == nil {
		newest = m.NewestObservations()
	}
	for _, s := range list {
		one := MindSensor{Sensor: s.Sensor, Error: textkit.OneLine(s.Error), Fails: s.Fails, Told: s.Stored}
		if at := newest[s.Sensor]; s.LastRead.Before(at) {
			s.LastRead = at
		}
		if !s.LastRead.IsZero() {
			one.Looked = &s.LastRead
		}
		out.Body.Sensors = append(out.Body.Sensors, one)
	}
	return out, nil
}

type testedOutput struct {
	Body struct {
		Success bool              `json:"success"`
		Sensors []app.SensorTrial `json:"sensors" nullable:"false"`
	}
}

func (a *api) testSensors(ctx context.Context, _ *struct{}) (*testedOutput, error) {
	out := &testedOutput{}
	out.Body.Success, out.Body.Sensors = true, []app.SensorTrial{}
	service, ok := a.Service.(app.MindService)
	if !ok {
		return out, nil
	}
	list, err := service.TestSensors(ctx, auth.CallerOf(ctx).Owner)
	if err != nil {
		return nil, a.apiError(err)
	}
	out.Body.Sensors = append(out.Body.Sensors, list...)
	return out, nil
}
