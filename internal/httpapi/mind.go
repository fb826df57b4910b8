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
	"ponder/internal/stream"
	"ponder/internal/textkit"
)

const tagMind = "mind"

func (a *api) mind() {
	get := a.operation(auth.Read, http.MethodGet, "/api/mind", "get-mind", "What is on the mind of the subconscious", tagMind)
	get.Responses = map[string]*huma.Response{"200": {Description: "As subconscious.json.", Content: map[string]*huma.MediaType{
		"application/json": {Schema: a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Mind](), true, "Mind")}}}}
	huma.Register(a.huma, get, a.getMind)
	tick := a.operation(auth.Think, http.MethodPost, "/api/mind/tick", "tick", "Have the subconscious look and think now", tagMind)
	tick.Description = "It answers when the tick is over, with a report of it."
	huma.Register(a.huma, tick, a.tick)
	events := a.operation(auth.Read, http.MethodGet, "/api/mind/events", "mind-events", "What the subconscious notices, finds and tells, as it comes", tagMind, http.StatusNotFound)
	huma.Register(a.huma, a.jsonOr(events, "200", reflect.TypeFor[mindEvents](), "MindEvents", streamSays), a.mindEvents)
	huma.Register(a.huma, a.operation(auth.Read, http.MethodGet, "/api/mind/log", "mind-log", "The ticks of the subconscious, the newest last", tagMind), a.mindLog)
	huma.Register(a.huma, a.operation(auth.Think, http.MethodPost, "/api/mind/resolve", "resolve", "Say that something is settled: it stays away until something new is known of it", tagMind,
		http.StatusNotFound, http.StatusUnprocessableEntity), a.resolve)
	huma.Register(a.huma, a.operation(auth.Think, http.MethodPost, "/api/mind/forget", "forget-entry", "Take an entry off its mind for good", tagMind,
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
	return &rawJSON{js}, a.failed(err)
}

type ticked struct {
	Body struct {
		Success bool            `json:"success" doc:"false if every role that looked has failed; failed_roles of the report says why"`
		Report  json.RawMessage `json:"report"`
	}
}

func (a *api) tick(ctx context.Context, in *OnceKey) (*ticked, error) {
	owner := auth.CallerOf(ctx).Owner
	report, err := a.once(ctx, onceID{owner, "POST /api/mind/tick", in.Key}, "", func() (string, error) {
		js, err := a.Service.Tick(ctx, owner)
		return string(js), err
	})
	if err != nil {
		return nil, a.failed(err)
	}
	var r struct {
		AllFailed bool `json:"all_failed"`
	}
	if err := json.Unmarshal([]byte(report), &r); err != nil {
		return nil, a.failed(fmt.Errorf("read the report of a tick: %w", err))
	}
	out := &ticked{}
	out.Body.Success, out.Body.Report = !r.AllFailed, json.RawMessage(report)
	return out, nil
}

type mindStream struct {
	EventCursor
	Limit int `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"of JSON: how many at most"`
}

type mindEvents struct {
	Success bool              `json:"success"`
	Count   int               `json:"event_count"`
	Events  []json.RawMessage `json:"events" nullable:"false"`
	After   ponder.Seq        `json:"next_after" doc:"go on with ?after="`
}

func (a *api) mindThread(ctx context.Context) (ponder.Info, error) {
	info, err := a.Store.Thread(ctx, a.Service.Thread(auth.CallerOf(ctx).Owner))
	if gone(err) || err == nil && info.Owner != auth.CallerOf(ctx).Owner {
		return info, huma.Error404NotFound("the subconscious has not been awake yet: POST /api/mind/tick")
	}
	return info, a.failed(err)
}

func (a *api) mindEvents(ctx context.Context, in *mindStream) (*written, error) {
	info, err := a.mindThread(ctx)
	if err != nil {
		return nil, err
	}
	many := mindEvents{Success: true, Events: []json.RawMessage{}, After: in.seq()}
	return &written{func(hc huma.Context) {
		r, w := humago.Unwrap(hc)
		if wantsEvents(r) {
			a.events(w, r, info, in.seq())
			return
		}
		if err := a.readMind(ctx, info, in, &many); err != nil {
			a.refuse(hc, err)
			return
		}
		a.write(hc, http.StatusOK, many)
	}}, nil
}

func (a *api) readMind(ctx context.Context, info ponder.Info, in *mindStream, many *mindEvents) error {
	for ev, err := range a.Store.Events(ctx, info.ID, in.seq()) {
		if err != nil {
			return err
		}
		if many.After = ev.Seq; ev.Internal {
			continue
		}
		js, err := stream.Shown(ev).MarshalJSON()
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
	Kind string          `json:"kind" enum:"tick,escalated,decided,resolved,forgotten,rolled_back"`
	Seq  ponder.Seq      `json:"seq"`
	At   time.Time       `json:"at"`
	Tick int             `json:"tick,omitempty"`
	Ran  json.RawMessage `json:"report,omitempty" doc:"of a tick: what ran, what it cost, what changed and why"`
	ID   string          `json:"id,omitempty" doc:"of an entry, or of an escalation"`
	Text string          `json:"text,omitempty"`
	Why  string          `json:"reason,omitempty"`
	Did  string          `json:"outcome,omitempty" doc:"of an escalation: message, act, remember or dismiss"`
}

type mindHistory struct {
	Body struct {
		Success bool      `json:"success"`
		Count   int       `json:"row_count"`
		Rows    []MindRow `json:"rows"`
	}
}

type mindLogOf struct {
	Limit int `query:"limit" minimum:"1" maximum:"1000" default:"20" doc:"the newest so many"`
}

func (a *api) mindLog(ctx context.Context, in *mindLogOf) (*mindHistory, error) {
	out := &mindHistory{}
	out.Body.Success, out.Body.Rows = true, []MindRow{}
	info, err := a.Store.Thread(ctx, a.Service.Thread(auth.CallerOf(ctx).Owner))
	if gone(err) || err == nil && info.Owner != auth.CallerOf(ctx).Owner {
		return out, nil
	}
	if err != nil {
		return nil, a.failed(err)
	}
	for ev, err := range a.Store.Events(ctx, info.ID, 0) {
		if err != nil {
			return nil, a.failed(err)
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
	case ponder.Resolved:
		r.Kind, r.ID, r.Text = cmp.Or(b.As, resolved), b.Ref, b.Content
	default:
		return r, false
	}
	return r, true
}

// Values of [ponder.Resolved.As]. The log stores "" for resolved.
const (
	resolved    = "resolved"
	asForgotten = "forgotten"
)

const (
	leastTopic = 3   // letters
	mostTopic  = 500 // bytes
)

type resolving struct {
	OnceKey
	Body struct {
		Entry string `json:"entry,omitempty" maxLength:"100" doc:"the id of an entry"`
		Text  string `json:"text,omitempty" maxLength:"500" doc:"or a topic, in your words" example:"the bill of the dentist"`
	}
}

func (in *resolving) Resolve(huma.Context) []error {
	text := strings.TrimSpace(in.Body.Text)
	switch {
	case (in.Body.Entry == "") == (text == ""):
		return []error{&huma.ErrorDetail{Location: "body", Message: "expected either entry or text"}}
	case text != "" && (len([]rune(text)) < leastTopic || len(text) > mostTopic):
		return []error{&huma.ErrorDetail{Location: "body.text", Message: "expected at least 3 letters, and at most 500 bytes"}}
	}
	return nil
}

type settled struct {
	Body struct {
		Success bool   `json:"success"`
		As      string `json:"as"`
		Entry   string `json:"entry,omitempty"`
		Text    string `json:"text"`
	}
}

func (a *api) resolve(ctx context.Context, in *resolving) (*settled, error) {
	said := ponder.Resolved{Content: strings.Join(strings.Fields(compat.Plain(in.Body.Text)), " ")}
	if out, err := a.settledBefore(ctx, in.OnceKey, resolveRoute, in.Body.Entry, said.Content); out != nil || err != nil {
		return out, err
	}
	entry, err := a.entry(ctx, in.Body.Entry, said.Content)
	if err != nil {
		return nil, err
	}
	if entry.ID != "" {
		said.Content, said.Ref = entry.Summary, entry.ID
	}
	return a.settle(ctx, in.OnceKey, resolveRoute, said)
}

type forgetting struct {
	OnceKey
	Body struct {
		Entry string `json:"entry" minLength:"1" maxLength:"100" doc:"the id of an entry"`
	}
}

func (a *api) forgetEntry(ctx context.Context, in *forgetting) (*settled, error) {
	if out, err := a.settledBefore(ctx, in.OnceKey, forgetRoute, in.Body.Entry, ""); out != nil || err != nil {
		return out, err
	}
	entry, err := a.entry(ctx, in.Body.Entry, "")
	if err != nil {
		return nil, err
	}
	return a.settle(ctx, in.OnceKey, forgetRoute, ponder.Resolved{Content: entry.Summary, Ref: entry.ID, As: asForgotten})
}

// entry finds an entry by id or text. An unknown text gives a zero entry.
func (a *api) entry(ctx context.Context, id, text string) (MindEntry, error) {
	js, err := a.Service.Mind(ctx, auth.CallerOf(ctx).Owner)
	if err != nil {
		return MindEntry{}, a.failed(err)
	}
	var lists map[string]json.RawMessage
	if err := json.Unmarshal(js, &lists); err != nil {
		return MindEntry{}, a.failed(err)
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
		return MindEntry{}, huma.Error404NotFound("nothing on its mind has the id " + textkit.Truncate(textkit.OneLine(id), 40) + ": see /api/mind")
	}
	return MindEntry{}, nil
}

func (a *api) settle(ctx context.Context, key OnceKey, route string, said ponder.Resolved) (*settled, error) {
	info, err := a.mindThread(ctx)
	if err != nil {
		return nil, err
	}
	_, err = a.Store.Append(ctx, info.ID, 0, ponder.Event{Cause: key.cause(info.Owner, route), Body: said})
	if err != nil && !errors.Is(err, ponder.ErrTaken) { // repeated
		return nil, a.failed(err)
	}
	return settledOf(said), nil
}

func settledOf(said ponder.Resolved) *settled {
	out := &settled{}
	out.Body.Success, out.Body.As, out.Body.Entry, out.Body.Text = true, cmp.Or(said.As, resolved), said.Ref, said.Content
	return out
}

// settledBefore returns the answer of an earlier request, or nil.
func (a *api) settledBefore(ctx context.Context, key OnceKey, route, entry, text string) (*settled, error) {
	if key.Key == "" {
		return nil, nil
	}
	info, err := a.mindThread(ctx)
	if err != nil {
		return nil, err
	}
	for ev, err := range a.Store.Events(ctx, info.ID, 0) {
		if err != nil {
			return nil, a.failed(err)
		}
		b, ok := ev.Body.(ponder.Resolved)
		if !ok || ev.Cause != key.cause(info.Owner, route) {
			continue
		}
		if entry != "" && b.Ref != entry || entry == "" && !strings.EqualFold(b.Content, text) {
			return nil, otherWords()
		}
		return settledOf(b), nil
	}
	return nil, nil
}

const (
	resolveRoute = "POST /api/mind/resolve"
	forgetRoute  = "POST /api/mind/forget"
)
