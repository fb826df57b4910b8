package protocoltest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/internal/app"
	"ponder/internal/locale"
	"ponder/internal/placement"
	"ponder/llm"
	"ponder/mode/passthrough"
	"ponder/mode/research"
	"ponder/mode/session"
)

// A Service implements [app.ProtocolService] and records its calls.
type Service struct {
	Store ponder.Store
	Model *Model

	// Fail returns the error of a method. It may be nil.
	Fail func(method string) error

	hosts     bool // Options.Hosts is set
	hostsOnly bool // no other models
	place     *placement.Placement
	mind      *engine.Engine
	tools     []string
	names     []string // of models

	mu       sync.Mutex
	calls    Calls
	chats    map[string]ponder.ThreadID // by owner and digest
	memories map[string][]app.Memory
}

type Calls struct {
	Begun     []app.Start
	Opened    []app.Conversation
	Said      []app.Message
	Relayed   []app.Exchange
	Forked    []app.Fork
	Texts     []string // embedded texts
	Continued []ponder.ThreadID
	Places    []string // zone and language of each start
}

func newService(store ponder.Store, o Options) *Service {
	s := &Service{Store: store, Model: o.Model, hosts: o.Hosts != nil, hostsOnly: o.HostsOnly, chats: make(map[string]ponder.ThreadID), memories: make(map[string][]app.Memory)}
	for _, t := range o.Tools {
		s.tools = append(s.tools, t.Name)
	}
	s.names = []string{o.Model.Name()}
	for _, m := range o.Others {
		s.names = append(s.names, m.Name())
	}
	return s
}

func (s *Service) Calls() Calls {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.calls
	a.Begun, a.Opened, a.Said, a.Relayed = slices.Clone(a.Begun), slices.Clone(a.Opened), slices.Clone(a.Said), slices.Clone(a.Relayed)
	a.Forked, a.Texts, a.Continued, a.Places = slices.Clone(a.Forked), slices.Clone(a.Texts), slices.Clone(a.Continued), slices.Clone(a.Places)
	return a
}

// recordCall records a call that does not Fail.
func (s *Service) recordCall(method string, keep func(*Calls)) error {
	if s.Fail != nil {
		if err := s.Fail(method); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	keep(&s.calls)
	return nil
}

func placeFrom(ctx context.Context) string {
	c := locale.ChoiceFrom(ctx)
	return strings.TrimSpace(c.Zone + " " + c.Language)
}

func (s *Service) checkModel(name string) error {
	switch {
	case s.hosts && strings.HasPrefix(name, hostPrefix):
		return nil
	case s.hostsOnly:
		return app.NotReadyf("no model: not configured")
	case name == "" || slices.Contains(s.names, name):
		return nil
	}
	return app.Invalidf("model_id", "there is no model %s", name)
}

func (s *Service) hasTool(tool string, not bool) bool { return !not && slices.Contains(s.tools, tool) }

func (s *Service) Begin(ctx context.Context, owner string, id ponder.ThreadID, st app.Start) error {
	err := s.recordCall("Begin", func(a *Calls) { a.Begun, a.Places = append(a.Begun, st), append(a.Places, placeFrom(ctx)) })
	if err == nil {
		err = s.checkModel(st.Model)
	}
	if err != nil {
		return err
	}
	var opts any = session.Options{
		SynthesisInterval: cmp.Or(st.Every, time.Minute).Seconds(), Parallel: st.Parallel, Memory: s.hasTool(research.SearchTool, st.NoMemory),
		Web: s.hasTool(research.WebSearchTool, st.NoWeb),
	}
	start := ponder.RunStarted{Mode: session.Name, Input: st.Question, Budget: st.Budget}
	start.Budget.Time = cmp.Or(start.Budget.Time, time.Minute)
	if st.Kind == ponder.KindResearch {
		start.Mode, opts = research.Name, research.Options{
			MaxRounds: max(1, st.Rounds), Memory: s.hasTool(research.SearchTool, st.NoMemory), Web: s.hasTool(research.WebSearchTool, st.NoWeb),
			Persona: research.Persona{Name: st.Persona}, Prompt: st.Context, PlanFirst: st.PlanFirst,
		}
	}
	thread := ponder.Thread{ID: id, Kind: st.Kind, Owner: owner, Title: st.Title, Model: cmp.Or(st.Model, s.Model.Name())}
	return s.startThread(ctx, thread, st.Cause, start, opts, nil)
}

func (s *Service) Relay(ctx context.Context, owner string, id ponder.ThreadID, x app.Exchange) error {
	err := s.recordCall("Relay", func(a *Calls) { a.Relayed = append(a.Relayed, x) })
	if err == nil {
		err = s.checkModel(x.Model)
	}
	if err != nil {
		return err
	}
	opts := passthrough.Options{Request: x.Request, Approved: x.Approved}
	for _, name := range s.tools {
		isMemory := name == research.SearchTool
		if x.Own && (isMemory && !x.NoMemory || !isMemory && !x.NoWeb) {
			opts.ServerTools = append(opts.ServerTools, name)
		}
	}
	thread := ponder.Thread{ID: id, Kind: ponder.KindExchange, Owner: owner, Title: x.Title, Model: cmp.Or(x.Model, s.Model.Name())}
	return s.startThread(ctx, thread, x.Cause, ponder.RunStarted{Mode: passthrough.Name, Input: cmp.Or(x.Title, "(a request)"), Budget: x.Budget}, opts, x.Made)
}

func (s *Service) startThread(ctx context.Context, thread ponder.Thread, cause string, b ponder.RunStarted, opts any, made func()) (err error) {
	if b.Options, err = json.Marshal(opts); err != nil {
		return err
	}
	thread.Created = time.Now()
	if err := s.Store.Create(ctx, thread, ponder.Event{Run: ponder.RunID(ponder.NewID("run")), Cause: cause, Body: b}); err != nil {
		return err
	}
	if made != nil {
		made()
	}
	return s.place.Start(ctx, thread.ID)
}

func (s *Service) Go(ctx context.Context, id ponder.ThreadID, model string) error {
	err := s.recordCall("Go", func(a *Calls) { a.Continued = append(a.Continued, id) })
	if err == nil && model != "" {
		err = s.checkModel(model)
	}
	if err != nil {
		return err
	}
	return s.place.Start(ctx, id)
}

func (s *Service) Fork(ctx context.Context, owner string, from, id ponder.ThreadID, f app.Fork) error {
	err := s.recordCall("Fork", func(a *Calls) { a.Forked = append(a.Forked, f) })
	if err == nil {
		err = s.checkModel(f.Model)
	}
	if err != nil {
		return err
	}
	info, err := s.Store.Thread(ctx, from)
	if err != nil {
		return err
	}
	inputs := f.Commands
	if f.Paused {
		inputs = append([]ponder.Event{{Body: ponder.RunPaused{Reason: "forked"}}}, inputs...)
	}
	to := ponder.Thread{ID: id, Owner: owner, Title: f.Title, Model: f.Model}
	if err := engine.Fork(ctx, s.Store, from, cmp.Or(f.At, info.Head), to, inputs...); err != nil || f.Paused {
		return err
	}
	return s.place.Start(ctx, id)
}

func (s *Service) Remove(ctx context.Context, id ponder.ThreadID) error {
	if err := s.recordCall("Remove", func(*Calls) {}); err != nil {
		return err
	}
	return s.Store.Remove(ctx, id)
}

func (s *Service) Report(ctx context.Context, id ponder.ThreadID, format string) (app.Document, error) {
	v := session.NewView()
	for ev, err := range s.Store.Events(ctx, id, 0) {
		if err != nil {
			return app.Document{}, err
		}
		v = v.Apply(ev)
	}
	if format == "markdown" {
		text := "# " + v.Session.Question + "\n\n" + v.Session.Final
		return app.Document{Type: "text/markdown; charset=utf-8", Name: string(id) + ".md", Body: []byte(text)}, nil
	}
	js, err := json.Marshal(v)
	return app.Document{Type: "application/json", Name: string(id) + ".json", Body: js}, err
}

func (s *Service) Open(ctx context.Context, owner string, id ponder.ThreadID, c app.Conversation) error {
	err := s.recordCall("Open", func(a *Calls) { a.Opened, a.Places = append(a.Opened, c), append(a.Places, placeFrom(ctx)) })
	if err == nil {
		err = s.checkModel(c.Model)
	}
	if err != nil {
		return err
	}
	return s.Store.Create(ctx, ponder.Thread{
		ID: id, Kind: ponder.KindConversation, Owner: owner, Title: c.Title, Model: cmp.Or(c.Model, s.Model.Name()), Created: time.Now(),
	})
}

func (s *Service) Say(ctx context.Context, in ponder.Info, key string, m app.Message) (ponder.Event, error) {
	err := s.recordCall("Say", func(a *Calls) { a.Said = append(a.Said, m) })
	if err == nil {
		err = s.checkModel(m.Model)
	}
	if err == nil {
		err = app.ParseDecision(ctx, s.Store, in.ID, &m.UserMessage)
	}
	if err != nil {
		return ponder.Event{}, err
	}
	said := []ponder.Event{{ID: ponder.NewID("evt"), Cause: key, Body: m.UserMessage}}
	if m.Note != nil {
		said = append(said, ponder.Event{ID: ponder.NewID("evt"), Cause: app.NoteCause(key), Internal: true, Body: *m.Note})
	}
	start := func(ctx context.Context) error { return s.place.Start(ctx, in.ID) }
	var list []ponder.Event
	if m.After != "" {
		list, err = s.mind.PostAfter(ctx, in.ID, m.After, start, said...)
	} else {
		list, err = s.mind.Post(ctx, in.ID, start, said...)
	}
	if err != nil {
		return ponder.Event{}, err
	}
	return list[0], nil
}

func (s *Service) Remember(_ context.Context, owner string, list ...app.Memory) ([]app.Memory, error) {
	if err := s.recordCall("Remember", func(*Calls) {}); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range list {
		list[i].ID, list[i].Created = cmp.Or(list[i].ID, ponder.NewID("mem")), time.Now()
		list[i].Kind = cmp.Or(list[i].Kind, "memory")
	}
	s.memories[owner] = append(s.memories[owner], list...)
	return list, nil
}

func (s *Service) Remembered(_ context.Context, owner string, ids ...string) (list []app.Memory, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.memories[owner] {
		if slices.Contains(ids, m.ID) {
			list = append(list, m)
		}
	}
	return list, nil
}

// Search matches words.
func (s *Service) Search(_ context.Context, owner string, q app.Query) (list []app.Hit, err error) {
	if err := s.recordCall("Search", func(*Calls) {}); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	words := strings.Fields(strings.ToLower(q.Text))
	for _, m := range s.memories[owner] {
		found := 0
		for _, w := range words {
			if strings.Contains(strings.ToLower(m.Text), w) {
				found++
			}
		}
		if found > 0 && (len(q.Kinds) == 0 || slices.Contains(q.Kinds, m.Kind)) && (q.Limit <= 0 || len(list) < q.Limit) {
			list = append(list, app.Hit{Memory: m, Quote: m.Text, Score: float64(found) / float64(len(words))})
		}
	}
	return list, nil
}

func (s *Service) Memories(_ context.Context, owner string, q app.Query, after string) (list []app.Memory, err error) {
	if err := s.recordCall("Memories", func(*Calls) {}); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	on := after == ""
	for _, m := range slices.Backward(s.memories[owner]) {
		if on && (q.Limit <= 0 || len(list) < q.Limit) {
			list = append(list, m)
		}
		on = on || m.ID == after
	}
	return list, nil
}

func (s *Service) Forget(_ context.Context, owner, id string) error {
	if err := s.recordCall("Forget", func(*Calls) {}); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.memories[owner])
	s.memories[owner] = slices.DeleteFunc(s.memories[owner], func(m app.Memory) bool { return m.ID == id })
	if len(s.memories[owner]) == before {
		return app.NotFoundf("", "there is nothing of the id %s", id)
	}
	return nil
}

func (*Service) Thread(owner string) ponder.ThreadID { return ponder.ThreadID("thr_mind_" + owner) }

func (s *Service) Mind(context.Context, string) (json.RawMessage, error) {
	return json.RawMessage(`{"version":1,"thoughts":[]}`), s.recordCall("Mind", func(*Calls) {})
}

func (s *Service) Tick(context.Context, string) (json.RawMessage, error) {
	return json.RawMessage(`{"tick":1}`), s.recordCall("Tick", func(*Calls) {})
}

const Dimensions = 8

// Embed returns equal unit vectors for equal texts.
func (s *Service) Embed(_ context.Context, _, model string, texts []string) (list [][]float32, use llm.Usage, name string, err error) {
	err = s.recordCall("Embed", func(a *Calls) { a.Texts = append(a.Texts, texts...) })
	if err == nil && model != "" && model != "test/embed" {
		err = s.checkModel(model)
	}
	if err != nil {
		return nil, use, "", err
	}
	for _, text := range texts {
		list = append(list, hashVector(text))
		use.Input += len(text)/4 + 1
	}
	return list, use, cmp.Or(model, "test/embed"), nil
}

func hashVector(text string) []float32 {
	v, sum := make([]float32, Dimensions), 0.0
	for i := range v {
		h := fnv.New32a()
		h.Write([]byte{byte(i)})
		h.Write([]byte(text))
		v[i] = float32(h.Sum32()%2001)/1000 - 1
		sum += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(max(sum, 1e-9)))
	}
	return v
}

func (s *Service) Models(context.Context, string) ([]string, error) {
	if s.hostsOnly {
		return nil, nil
	}
	return append(slices.Clone(s.names), "test/embed"), s.recordCall("Models", func(*Calls) {})
}

func (s *Service) FindChat(_ context.Context, owner, digest string) (ponder.ThreadID, error) {
	if err := s.recordCall("FindChat", func(*Calls) {}); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.chats[owner+"\n"+digest], nil
}

func (s *Service) NoteChat(_ context.Context, owner, digest string, id ponder.ThreadID, _ bool) error {
	if err := s.recordCall("NoteChat", func(*Calls) {}); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chats[owner+"\n"+digest] = id
	return nil
}

var _ app.ProtocolService = (*Service)(nil)

var errNothing = errors.New("nothing was found")
