package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"ponder"
	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/mindlog"
	"ponder/internal/stream"
	"ponder/internal/textkit"
)

const tagMind = "mind"

func (a *api) registerMind() {
	get := a.newOperation(auth.Read, http.MethodGet, "/api/mind", "get-mind", "Show the entries of the subconscious", tagMind)
	get.Responses = map[string]*huma.Response{"200": {Description: "The format is that of `subconscious.json`.", Content: map[string]*huma.MediaType{
		"application/json": {Schema: a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Mind](), true, "Mind")}}}}
	huma.Register(a.huma, get, a.getMind)
	tick := a.newOperation(auth.Think, http.MethodPost, "/api/mind/tick", "tick", "Run a tick of the subconscious now", tagMind)
	tick.Description = "The answer follows after the tick and contains its report."
	huma.Register(a.huma, tick, a.runTick)
	events := a.newOperation(auth.Read, http.MethodGet, "/api/mind/events", "mind-events", "Follow the events of the subconscious", tagMind, http.StatusNotFound)
	huma.Register(a.huma, a.jsonOr(events, "200", reflect.TypeFor[mindEvents](), "MindEvents", streamSays), a.mindEvents)
	huma.Register(a.huma, a.newOperation(auth.Read, http.MethodGet, "/api/mind/log", "mind-log", "List the ticks of the subconscious, newest last", tagMind), a.mindLog)
	huma.Register(a.huma, a.newOperation(auth.Think, http.MethodPost, "/api/mind/resolve", "resolve", "Resolve an entry or a topic until new facts appear", tagMind,
		http.StatusNotFound, http.StatusUnprocessableEntity), a.resolveEntry)
	huma.Register(a.huma, a.newOperation(auth.Think, http.MethodPost, "/api/mind/forget", "forget-entry", "Forget an entry of the subconscious", tagMind,
		http.StatusNotFound, http.StatusUnprocessableEntity), a.forgetEntry)
}

// A Mind documents the JSON of [Minder].
type Mind struct {
	Threads  []MindEntry                `json:"active_threads" nullable:"false"`
	Patterns []MindEntry                `json:"patterns" nullable:"false"`
	Hunches  []MindEntry                `json:"hunches" nullable:"false"`
	Insights []MindEntry                `json:"insights" nullable:"false"`
	History  []json.RawMessage          `json:"escalation_history" nullable:"false"`
	State    map[string]json.RawMessage `json:"thread_state" doc:"by role: last_findings, novelty_pressure, focus_hint"`
}

type MindEntry struct {
	ID       string    `json:"id"`
	Summary  string    `json:"summary" doc:"fewer than 20 words"`
	Strength int       `json:"strength" minimum:"0" maximum:"10"`
	Created  time.Time `json:"created"`
	LastSeen time.Time `json:"last_seen"`
}

type rawJSON struct {
	Body json.RawMessage
}

func (a *api) getMind(ctx context.Context, _ *struct{}) (*rawJSON, error) {
	js, err := a.Service.Mind(ctx, auth.CallerOf(ctx).Owner)
	return &rawJSON{js}, a.apiError(err)
}

type tickOutput struct {
	Body struct {
		Success bool            `json:"success" doc:"false if every role failed; see failed_roles of the report"`
		Report  json.RawMessage `json:"report"`
	}
}

func (a *api) runTick(ctx context.Context, in *OnceKey) (*tickOutput, error) {
	owner := auth.CallerOf(ctx).Owner
	report, err := a.runOnce(ctx, onceID{owner, "POST /api/mind/tick", in.Key}, "", func() (string, error) {
		js, err := a.Service.Tick(ctx, owner)
		return string(js), err
	})
	if err != nil {
		return nil, a.apiError(err)
	}
	var r struct {
		AllFailed bool `json:"all_failed"`
	}
	if err := json.Unmarshal([]byte(report), &r); err != nil {
		return nil, a.apiError(fmt.Errorf("read the report of a tick: %w", err))
	}
	out := &tickOutput{}
	out.Body.Success, out.Body.Report = !r.AllFailed, json.RawMessage(report)
	return out, nil
}

type mindStream struct {
	EventCursor
	Limit int `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"maximum number of items of a JSON answer"`
}

type mindEvents struct {
	Success bool              `json:"success"`
	Count   int               `json:"event_count"`
	Events  []json.RawMessage `json:"events" nullable:"false"`
	After   ponder.Seq        `json:"next_after" doc:"value of ?after= for the next page"`
}

func (a *api) mindThread(ctx context.Context) (ponder.Info, error) {
	info, err := a.Store.Thread(ctx, a.Service.Thread(auth.CallerOf(ctx).Owner))
	if isGone(err) || err == nil && info.Owner != auth.CallerOf(ctx).Owner {
		return info, huma.Error404NotFound("the subconscious has no events yet: POST /api/mind/tick")
	}
	return info, a.apiError(err)
}

func (a *api) mindEvents(ctx context.Context, in *mindStream) (*bodyFunc, error) {
	info, err := a.mindThread(ctx)
	if err != nil {
		return nil, err
	}
	many := mindEvents{Success: true, Events: []json.RawMessage{}, After: in.startSeq()}
	return &bodyFunc{func(hc huma.Context) {
		r, w := humago.Unwrap(hc)
		if wantsEvents(r) {
			a.streamEvents(w, r, info, in.startSeq())
			return
		}
		if err := a.readMind(ctx, info, in, &many); err != nil {
			a.writeError(hc, err)
			return
		}
		a.writeJSON(hc, http.StatusOK, many)
	}}, nil
}

func (a *api) readMind(ctx context.Context, info ponder.Info, in *mindStream, many *mindEvents) error {
	for ev, err := range a.Store.Events(ctx, info.ID, in.startSeq()) {
		if err != nil {
			return err
		}
		if many.After = ev.Seq; ev.Internal {
			continue
		}
		js, err := stream.VisibleEvent(ev).MarshalJSON()
		if err != nil {
			return err
		}
		many.Events = append(many.Events, js)
		if many.Count = len(many.Events); many.Count == in.Limit {
			return nil
		}
	}
	return nil
}

// A MindRow is a log entry.
type MindRow struct {
	Kind string          `json:"kind" enum:"tick,escalated,decided,resolved,forgotten,rolled_back,answered"`
	Seq  ponder.Seq      `json:"seq"`
	At   time.Time       `json:"at"`
	Tick int             `json:"tick,omitempty"`
	Ran  json.RawMessage `json:"report,omitempty" doc:"report of a tick: roles, cost, changes and reasons"`
	ID   string          `json:"id,omitempty" doc:"ID of an entry or an escalation"`
	Text string          `json:"text,omitempty"`
	Why  string          `json:"reason,omitempty"`
	Did  string          `json:"outcome,omitempty" doc:"outcome of an escalation, or the answer of the user: message, act, remember or dismiss"`
}

type mindHistory struct {
	Body struct {
		Success bool      `json:"success"`
		Count   int       `json:"row_count"`
		Rows    []MindRow `json:"rows"`
	}
}

type mindLogOf struct {
	Limit int `query:"limit" minimum:"1" maximum:"1000" default:"20" doc:"maximum number, newest first"`
}

func (a *api) mindLog(ctx context.Context, in *mindLogOf) (*mindHistory, error) {
	out := &mindHistory{}
	out.Body.Success, out.Body.Rows = true, []MindRow{}
	info, err := a.Store.Thread(ctx, a.Service.Thread(auth.CallerOf(ctx).Owner))
	if isGone(err) || err == nil && info.Owner != auth.CallerOf(ctx).Owner {
		return out, nil
	}
	if err != nil {
		return nil, a.apiError(err)
	}
	for ev, err := range a.Store.Events(ctx, info.ID, 0) {
		if err != nil {
			return nil, a.apiError(err)
		}
		if r, ok := mindRowOf(ev); ok {
			if out.Body.Rows = append(out.Body.Rows, r); len(out.Body.Rows) > 2*in.Limit {
				out.Body.Rows = append([]MindRow{}, out.Body.Rows[in.Limit:]...)
			}
		}
	}
	out.Body.Rows = out.Body.Rows[max(0, len(out.Body.Rows)-in.Limit):]
	out.Body.Count = len(out.Body.Rows)
	return out, nil
}

func mindRowOf(ev ponder.Event) (MindRow, bool) {
	r := MindRow{Seq: ev.Seq, At: ev.Time}
	if ev.Internal {
		return r, false
	}
	switch b := ev.Body.(type) {
	case ponder.Subconscious:
		r.Kind, r.Tick, r.Ran = "tick", b.Tick, b.Changes
	case ponder.Escalation:
		r.Kind, r.ID, r.Text, r.Why, r.Did = "escalated", b.ID, b.Content, b.Reason, b.Outcome
		if b.Outcome != "" {
			r.Kind = "decided"
		}
	case ponder.Resolution:
		r.Kind, r.ID, r.Text = cmp.Or(b.As, resolved), b.Ref, b.Content
		if mindlog.IsAnswer(b) {
			r.Kind, r.Did = "answered", b.As
		}
	default:
		return r, false
	}
	return r, true
}

// Values of [ponder.Resolution.As]. The log stores "" for resolved.
const (
	resolved    = "resolved"
	asForgotten = "forgotten"
)

const (
	minTopic = 3   // letters
	maxTopic = 500 // bytes
)

type resolveInput struct {
	OnceKey
	Body struct {
		Entry string `json:"entry,omitempty" maxLength:"100" doc:"ID of an entry"`
		Text  string `json:"text,omitempty" maxLength:"500" doc:"topic, instead of an entry" example:"the bill of the dentist"`
	}
}

func (in *resolveInput) Resolve(huma.Context) []error {
	text := strings.TrimSpace(in.Body.Text)
	switch {
	case (in.Body.Entry == "") == (text == ""):
		return []error{&huma.ErrorDetail{Location: "body", Message: "expected either entry or text"}}
	case text != "" && (len([]rune(text)) < minTopic || len(text) > maxTopic):
		return []error{&huma.ErrorDetail{Location: "body.text", Message: "expected at least 3 characters and at most 500 bytes"}}
	}
	return nil
}

type resolveOutput struct {
	Body struct {
		Success bool   `json:"success"`
		As      string `json:"as"`
		Entry   string `json:"entry,omitempty"`
		Text    string `json:"text"`
	}
}

func (a *api) resolveEntry(ctx context.Context, in *resolveInput) (*resolveOutput, error) {
	said := ponder.Resolution{Content: strings.Join(strings.Fields(compat.Plain(in.Body.Text)), " ")}
	if out, err := a.findResolved(ctx, in.OnceKey, resolveRoute, in.Body.Entry, said.Content); out != nil || err != nil {
		return out, err
	}
	entry, err := a.findEntry(ctx, in.Body.Entry, said.Content)
	if err != nil {
		return nil, err
	}
	if entry.ID != "" {
		said.Content, said.Ref = entry.Summary, entry.ID
	}
	return a.appendResolved(ctx, in.OnceKey, resolveRoute, said)
}

type forgetInput struct {
	OnceKey
	Body struct {
		Entry string `json:"entry" minLength:"1" maxLength:"100" doc:"ID of an entry"`
	}
}

func (a *api) forgetEntry(ctx context.Context, in *forgetInput) (*resolveOutput, error) {
	if out, err := a.findResolved(ctx, in.OnceKey, forgetRoute, in.Body.Entry, ""); out != nil || err != nil {
		return out, err
	}
	entry, err := a.findEntry(ctx, in.Body.Entry, "")
	if err != nil {
		return nil, err
	}
	return a.appendResolved(ctx, in.OnceKey, forgetRoute, ponder.Resolution{Content: entry.Summary, Ref: entry.ID, As: asForgotten})
}

// findEntry finds an entry by id or text. An unknown text gives a zero entry.
func (a *api) findEntry(ctx context.Context, id, text string) (MindEntry, error) {
	js, err := a.Service.Mind(ctx, auth.CallerOf(ctx).Owner)
	if err != nil {
		return MindEntry{}, a.apiError(err)
	}
	var lists map[string]json.RawMessage
	if err := json.Unmarshal(js, &lists); err != nil {
		return MindEntry{}, a.apiError(err)
	}
	for _, name := range []string{"active_threads", "patterns", "hunches", "insights"} {
		var list []MindEntry
		if err := json.Unmarshal(lists[name], &list); err != nil {
			continue
		}
		for _, e := range list {
			if id != "" && e.ID == id || id == "" && strings.EqualFold(e.Summary, text) {
				return e, nil
			}
		}
	}
	if id != "" {
		return MindEntry{}, huma.Error404NotFound("no entry has the ID " + textkit.Truncate(textkit.OneLine(id), 40) + ": see /api/mind")
	}
	return MindEntry{}, nil
}

func (a *api) appendResolved(ctx context.Context, key OnceKey, route string, said ponder.Resolution) (*resolveOutput, error) {
	info, err := a.mindThread(ctx)
	if err != nil {
		return nil, err
	}
	_, err = a.Store.Append(ctx, info.ID, 0, ponder.Event{Cause: key.causeKey(info.Owner, route), Body: said})
	if err != nil && !errors.Is(err, ponder.ErrTaken) { // repeated
		return nil, a.apiError(err)
	}
	return settledOf(said), nil
}

func settledOf(said ponder.Resolution) *resolveOutput {
	out := &resolveOutput{}
	out.Body.Success, out.Body.As, out.Body.Entry, out.Body.Text = true, cmp.Or(said.As, resolved), said.Ref, said.Content
	return out
}

// findResolved returns the answer of an earlier request, or nil.
func (a *api) findResolved(ctx context.Context, key OnceKey, route, entry, text string) (*resolveOutput, error) {
	if key.Key == "" {
		return nil, nil
	}
	info, err := a.mindThread(ctx)
	if err != nil {
		return nil, err
	}
	for ev, err := range a.Store.Events(ctx, info.ID, 0) {
		if err != nil {
			return nil, a.apiError(err)
		}
		b, ok := ev.Body.(ponder.Resolution)
		if !ok || ev.Cause != key.causeKey(info.Owner, route) {
			continue
		}
		if entry != "" && b.Ref != entry || entry == "" && !strings.EqualFold(b.Content, text) {
			return nil, reusedKeyError()
		}
		return settledOf(b), nil
	}
	return nil, nil
}

const (
	resolveRoute = "POST /api/mind/resolve"
	forgetRoute  = "POST /api/mind/forget"
)
