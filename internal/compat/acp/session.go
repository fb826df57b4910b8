package acp

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"ponder"
	"ponder/internal/compat"
	"ponder/internal/compat/ways"
)

// A session is one conversation of the client.
type session struct {
	name  string
	fresh bool // [ways.NewName] made the name

	mu      sync.Mutex
	options ways.Options
	job     compat.Job         // the newest; zero: none yet
	stop    context.CancelFunc // ends the running prompt; nil: none
}

// A choice is a config option that selects a value.
type choice struct {
	id, name, doc string
	category      sdk.SessionConfigOptionCategory
	values        []choiceValue
	read          func(ways.Options) string
	write         func(o *ways.Options, value string)
}

type choiceValue struct{ id, name, doc string }

const (
	modeOption = "mode"
	timeOption = "minutes"
	costOption = "max_cost_usd"
	planOption = "plan_first"
	asSet      = "default" // as configured
)

func amountText(n float64) string {
	if n == 0 {
		return asSet
	}
	return strconv.FormatFloat(n, 'g', -1, 64)
}

func amountOf(text string) float64 {
	n, _ := strconv.ParseFloat(text, 64) // "default" is zero
	return n
}

func choices() []choice {
	mode := choice{id: modeOption, name: "Way of thinking", category: sdk.SessionConfigOptionCategoryMode}
	for _, w := range ways.All() {
		mode.values = append(mode.values, choiceValue{w.ID, w.Name, w.Doc})
	}
	mode.read = func(o ways.Options) string { return wayID(o) }
	mode.write = func(o *ways.Options, value string) { o.Way = value }
	return []choice{
		mode,
		{timeOption, "Time", "of a session or research", "_budget", []choiceValue{
			{asSet, "As configured", ""}, {"2", "2 minutes", ""}, {"5", "5 minutes", ""}, {"15", "15 minutes", ""}, {"60", "1 hour", ""}, {"240", "4 hours", ""}, {"720", "12 hours", ""},
		}, func(o ways.Options) string { return amountText(o.Minutes) }, func(o *ways.Options, v string) { o.Minutes = amountOf(v) }},
		{costOption, "Cost", "of a session or research, at most", "_budget", []choiceValue{
			{asSet, "As configured", ""}, {"0.1", "$0.10", ""}, {"0.5", "$0.50", ""}, {"2", "$2", ""}, {"10", "$10", ""},
		}, func(o ways.Options) string { return amountText(o.MaxCost) }, func(o *ways.Options, v string) { o.MaxCost = amountOf(v) }},
		{planOption, "Plan", "of research", "_budget", []choiceValue{{"false", "Start at once", ""}, {"true", "Ask me to approve the plan", ""}},
			func(o ways.Options) string { return strconv.FormatBool(o.PlanFirst) }, func(o *ways.Options, v string) { o.PlanFirst = v == "true" }},
	}
}

func wayID(o ways.Options) string {
	w, err := o.FindWay()
	if err != nil {
		return ways.Think.ID
	}
	return w.ID
}

func configOptions(o ways.Options) (list []sdk.SessionConfigOption) {
	for _, c := range choices() {
		values := sdk.SessionConfigSelectOptionsUngrouped{}
		current := c.read(o)
		if !slices.ContainsFunc(c.values, func(v choiceValue) bool { return v.id == current }) { // of _meta
			c.values = append(c.values, choiceValue{current, current, ""})
		}
		for _, v := range c.values {
			one := sdk.SessionConfigSelectOption{Name: v.name, Value: sdk.SessionConfigValueId(v.id)}
			if v.doc != "" {
				one.Description = &v.doc
			}
			values = append(values, one)
		}
		option := sdk.NewSessionConfigOptionSelect(sdk.SessionConfigValueId(current), sdk.SessionConfigSelectOptions{Ungrouped: &values})
		option.Select.Id, option.Select.Name, option.Select.Category = sdk.SessionConfigId(c.id), c.name, &c.category
		if c.doc != "" {
			option.Select.Description = &c.doc
		}
		list = append(list, option)
	}
	return list
}

func modeState(o ways.Options) *sdk.SessionModeState {
	m := &sdk.SessionModeState{CurrentModeId: sdk.SessionModeId(wayID(o))}
	for _, w := range ways.All() {
		m.AvailableModes = append(m.AvailableModes, sdk.SessionMode{Id: sdk.SessionModeId(w.ID), Name: w.Name, Description: &w.Doc})
	}
	return m
}

// addSession opens a session. It reads the options of its metadata.
func (s *server) addSession(one *session, metadata map[string]any) (*session, error) {
	o, err := ways.ReadOptions(metadata)
	if err == nil {
		_, err = o.FindWay()
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if open := s.sessions[one.name]; open != nil {
		open.setOptions(o)
		return open, nil
	}
	if len(s.sessions) >= maxSessions {
		return nil, compat.InvalidField("", "%d sessions are open: close some", maxSessions)
	}
	one.options = o
	s.sessions[one.name] = one
	return one, nil
}

func (s *session) setOptions(o ways.Options) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options = s.options.Merge(o)
}

func (s *session) currentOptions() ways.Options {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.options
}

func (s *server) findSession(id sdk.SessionId) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.sessions[string(id)]
	if one == nil {
		return nil, noSession(id)
	}
	return one, nil
}

func noSession(id sdk.SessionId) error {
	return &sdk.RequestError{Code: codeNotFound, Message: fmt.Sprintf("there is no session %.60q: create or load it first", string(id))}
}

func (s *server) newSession(_ context.Context, in sdk.NewSessionRequest) (sdk.NewSessionResponse, error) {
	one, err := s.addSession(&session{name: ways.NewName(s.Caller.Owner, ""), fresh: true}, in.Meta)
	if err != nil {
		return sdk.NewSessionResponse{}, err
	}
	s.out.runAfter(`"sessionId":"`+one.name+`"`, func() { s.sendCommands(one.name) })
	o := one.currentOptions()
	return sdk.NewSessionResponse{SessionId: sdk.SessionId(one.name), Modes: modeState(o), ConfigOptions: configOptions(o)}, nil
}

func (s *server) sendCommands(name string) {
	u := &sdk.SessionAvailableCommandsUpdate{}
	for _, c := range ways.Commands() {
		one := sdk.AvailableCommand{Name: c.Name, Description: c.Doc}
		if c.Hint != "" {
			one.Input = &sdk.AvailableCommandInput{Unstructured: &sdk.UnstructuredCommandInput{Hint: c.Hint}}
		}
		u.AvailableCommands = append(u.AvailableCommands, one)
	}
	_ = s.notify(name, sdk.SessionUpdate{AvailableCommandsUpdate: u}) // a disconnect ends the connection
}

// openStored opens a session that has work.
func (s *server) openStored(ctx context.Context, id sdk.SessionId, metadata map[string]any) (*session, *ways.Context, error) {
	c, err := ways.OpenContext(ctx, s.Desk, s.Caller.Owner, string(id))
	if err != nil || !c.Exists() {
		return nil, nil, noSession(id)
	}
	one, err := s.addSession(&session{name: string(id)}, metadata)
	if err != nil {
		return nil, nil, err
	}
	job, _, err := c.Newest(ctx)
	if err != nil {
		return nil, nil, err
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	if one.job.Thread == "" {
		one.job = job
		if one.options.Way == "" {
			one.options.Way = ways.WayOf(job.Kind).ID
		}
	}
	return one, c, nil
}

func (s *server) loadSession(ctx context.Context, in sdk.LoadSessionRequest) (sdk.LoadSessionResponse, error) {
	one, c, err := s.openStored(ctx, in.SessionId, in.Meta)
	if err != nil {
		return sdk.LoadSessionResponse{}, err
	}
	turns, err := c.Turns(ctx)
	if err != nil {
		return sdk.LoadSessionResponse{}, err
	}
	for _, t := range turns {
		if err := s.replayTurn(ctx, one, t); err != nil {
			return sdk.LoadSessionResponse{}, err
		}
	}
	s.sendCommands(one.name)
	o := one.currentOptions()
	return sdk.LoadSessionResponse{Modes: modeState(o), ConfigOptions: configOptions(o)}, nil
}

// replayTurn sends a stored turn.
func (s *server) replayTurn(ctx context.Context, one *session, t ways.Turn) error {
	job, err := s.Desk.FindJob(ctx, s.Caller.Owner, t.Job)
	if err != nil {
		return err
	}
	parts, end, err := s.Desk.Result(ctx, job)
	if err != nil {
		return err
	}
	if err := s.notify(one.name, sdk.SessionUpdate{UserMessageChunk: &sdk.SessionUpdateUserMessageChunk{Content: sdk.TextBlock(t.Question)}}); err != nil {
		return err
	}
	e := &encoder{server: s, session: one, kind: job.Kind}
	for _, p := range parts {
		if p.Kind != compat.Ended {
			e.Part(p)
		}
	}
	if !end.Status.Ended() {
		e.addText(messageText, fmt.Sprintf("\n\nThis %s is %s: /status shows its progress, /resume follows it.", job.Kind, end.Status))
		return e.Flush()
	}
	e.End(end)
	return e.Flush()
}

func (s *server) resumeSession(ctx context.Context, in sdk.ResumeSessionRequest) (sdk.ResumeSessionResponse, error) {
	one, _, err := s.openStored(ctx, in.SessionId, in.Meta)
	if err != nil {
		return sdk.ResumeSessionResponse{}, err
	}
	s.sendCommands(one.name)
	o := one.currentOptions()
	return sdk.ResumeSessionResponse{Modes: modeState(o), ConfigOptions: configOptions(o)}, nil
}

const maxListed = 100

func (s *server) listSessions(ctx context.Context, in sdk.ListSessionsRequest) (sdk.ListSessionsResponse, error) {
	out := sdk.ListSessionsResponse{Sessions: []sdk.SessionInfo{}}
	list, err := s.Desk.Store.List(ctx, ponder.Filter{Owner: s.Caller.Owner, Without: ponder.KindExchange, Limit: maxListed})
	dir := s.Dir
	if in.Cwd != nil && strings.HasPrefix(*in.Cwd, "/") {
		dir = *in.Cwd // sessions belong to no directory
	}
	for _, info := range list {
		if info.Kind != ponder.KindConversation && info.Kind != ponder.KindSession && info.Kind != ponder.KindResearch {
			continue
		}
		at := info.Updated.UTC().Format(time.RFC3339)
		out.Sessions = append(out.Sessions, sdk.SessionInfo{SessionId: sdk.SessionId(strings.TrimPrefix(string(info.ID), "thr_")), Cwd: dir, Title: &info.Title, UpdatedAt: &at})
	}
	return out, err
}

func (s *server) closeSession(_ context.Context, in sdk.CloseSessionRequest) (sdk.CloseSessionResponse, error) {
	one, err := s.findSession(in.SessionId)
	if err != nil {
		return sdk.CloseSessionResponse{}, err
	}
	one.cancelTurn()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, one.name)
	return sdk.CloseSessionResponse{}, nil
}

func (s *server) setMode(_ context.Context, in sdk.SetSessionModeRequest) (sdk.SetSessionModeResponse, error) {
	_, err := s.choose(in.SessionId, modeOption, string(in.ModeId))
	return sdk.SetSessionModeResponse{}, err
}

func (s *server) setOption(_ context.Context, in sdk.SetSessionConfigOptionRequest) (sdk.SetSessionConfigOptionResponse, error) {
	if in.ValueId == nil {
		return sdk.SetSessionConfigOptionResponse{}, compat.InvalidField("value", "value: expected one of the values of the option")
	}
	o, err := s.choose(in.ValueId.SessionId, string(in.ValueId.ConfigId), string(in.ValueId.Value))
	return sdk.SetSessionConfigOptionResponse{ConfigOptions: configOptions(o)}, err
}

// choose sets an option of a session and returns the options.
func (s *server) choose(id sdk.SessionId, option, value string) (o ways.Options, err error) {
	one, err := s.findSession(id)
	if err != nil {
		return o, err
	}
	for _, c := range choices() {
		if c.id != option {
			continue
		}
		if !slices.ContainsFunc(c.values, func(v choiceValue) bool { return v.id == value }) {
			return o, compat.InvalidField(option, "%s: %.60q is none of its values", option, value)
		}
		one.mu.Lock()
		defer one.mu.Unlock()
		c.write(&one.options, value)
		return one.options, nil
	}
	return o, compat.InvalidField("configId", "configId: there is no option %.60q", option)
}
