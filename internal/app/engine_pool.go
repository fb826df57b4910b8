package app

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/internal/locale"
	"ponder/mode/session"
)

type engineSpec struct {
	Kind    ponder.Kind `json:"kind"`
	Owner   string      `json:"owner"`
	Model   string      `json:"model,omitempty"` // named model; empty: the configured one
	Alone   bool        `json:"alone,omitempty"` // without a model
	Docs    []string    `json:"docs,omitempty"`
	Memory  bool        `json:"memory,omitempty"`
	Web     bool        `json:"web,omitempty"`
	Persona string      `json:"persona,omitempty"`
	System  string      `json:"system,omitempty"` // of conversations: the client's system prompt

	Locale locale.Choice `json:"locale,omitzero"` // of conversations

	Others bool   `json:"others,omitempty"` // with tools of MCP servers
	Outer  uint64 `json:"outer,omitempty"`  // see [MCPServers.Version]

	// Payer is the conversation that a daily cost limit applies to, or empty.
	Payer ponder.ThreadID `json:"payer,omitempty"`
}

func (o engineSpec) cacheKey() string {
	js, err := json.Marshal(o)
	if err != nil { // strings always encode
		panic(err)
	}
	return string(js)
}

func (o engineSpec) sources() Sources {
	research := o.Kind == ponder.KindResearch
	s := Sources{Docs: o.Docs, Memory: o.Memory, Web: o.Web, OtherTools: o.Others, Research: research}
	if research {
		s.Persona = o.Persona
	}
	return s
}

const (
	maxIdleEngines = 16
	engineLife     = time.Minute // the configuration outside may have changed since
)

// An enginePool has an engine for each spec in use and some unused ones. It is safe for
// concurrent use.
type enginePool struct {
	make func(engineSpec) (*engine.Engine, func(), error)

	mu   sync.Mutex
	list map[string]*pooledEngine
}

type pooledEngine struct {
	engine *engine.Engine
	end    func()
	err    error
	ready  chan struct{}

	made     time.Time
	users    int
	outdated bool
}

// acquire returns the engine of a spec. The caller must call leave afterwards.
func (w *enginePool) acquire(ctx context.Context, o engineSpec) (mind *engine.Engine, leave func(), err error) {
	key := o.cacheKey()
	w.mu.Lock()
	one := w.list[key]
	if one != nil && time.Since(one.made) > engineLife {
		w.removeEngine(key)
		one = nil
	}
	if one == nil {
		one = &pooledEngine{made: time.Now(), ready: make(chan struct{})}
		w.list[key] = one
		go func() {
			one.engine, one.end, one.err = w.make(o)
			close(one.ready)
		}()
	}
	one.users++
	w.mu.Unlock()
	leave = func() { w.release(key, one) }
	select {
	case <-one.ready:
		err = one.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		leave()
		return nil, nil, err
	}
	return one.engine, leave, nil
}

func (w *enginePool) release(key string, one *pooledEngine) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one.users--
	select {
	case <-one.ready:
		if one.err != nil && w.list[key] == one {
			delete(w.list, key)
		}
	default:
	}
	if one.outdated {
		one.close()
	}
	w.dropSurplus()
}

// dropSurplus drops surplus unused engines. The caller holds w.mu.
func (w *enginePool) dropSurplus() {
	for len(w.list) > maxIdleEngines {
		oldest := ""
		for key, one := range w.list {
			if one.users == 0 && (oldest == "" || one.made.Before(w.list[oldest].made)) {
				oldest = key
			}
		}
		if oldest == "" {
			return
		}
		w.removeEngine(oldest)
	}
}

// removeEngine removes an engine from the list. The caller holds w.mu.
func (w *enginePool) removeEngine(key string) {
	one := w.list[key]
	delete(w.list, key)
	one.outdated = true
	one.close()
}

func (one *pooledEngine) close() {
	if one.users > 0 {
		return
	}
	go func() { // it may still start
		<-one.ready
		if one.end != nil {
			one.end()
		}
	}()
}

func (w *enginePool) dropStale() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, one := range w.list {
		if one.users == 0 && time.Since(one.made) > engineLife {
			w.removeEngine(key)
		}
	}
}

// close drops all engines. No work may be in progress.
func (w *enginePool) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, one := range w.list {
		delete(w.list, key)
		<-one.ready
		if one.end != nil {
			one.end()
		}
	}
}

// engineSpecFor returns the spec of a thread: its original one with the model chosen since.
func (s *Service) engineSpecFor(ctx context.Context, known threadSnapshot) (o engineSpec, err error) {
	info, asked := known.info, known.threadPrefs
	o = engineSpec{Kind: info.Kind, Owner: info.Owner, Others: info.Kind == ponder.KindConversation, Outer: s.ToolsVersion()}
	switch info.Kind {
	case ponder.KindConversation:
		o.Model, o.Persona, o.System, o.Locale = asked.Model, asked.Persona, asked.System, locale.Choice{Zone: asked.Zone, Language: asked.Language}
		if _, _, limited := s.findPayer(ctx, known.token); limited {
			o.Payer = info.ID
		}
		o.Memory, o.Web, err = s.defaultSources(ctx, info.Owner, false, asked.NoWeb)
		return o, err
	case ponder.KindExchange:
		err := s.completeExchangeSpec(ctx, info, &o)
		return o, err
	case ponder.KindResearch:
		v, _, err := FoldResearch(ctx, s.Store, info.ID)
		if err != nil {
			return o, err
		}
		look := rerunSources(v)
		o.Docs, o.Memory, o.Web, o.Persona, o.Others = look.Docs, look.Memory, look.Web, look.Persona, look.OtherTools
		o.Alone = info.Model == "" && asSession(v).Session.Metadata.WithoutModel
	default:
		opts, err := s.sessionOptions(ctx, info.ID)
		if err != nil {
			return o, err
		}
		o.Docs, o.Memory, o.Web = opts.Docs, opts.Memory, opts.Web
		o.Alone = info.Model == "" && opts.WithoutModel
	}
	o.Model, err = s.modelOf(ctx, info, asked.Model)
	if o.Model != "" {
		o.Alone = false
	}
	return o, err
}

func (s *Service) sessionOptions(ctx context.Context, id ponder.ThreadID) (o session.Options, err error) {
	for ev, err := range s.Store.Events(ctx, id, 0) {
		if err != nil {
			return o, err
		}
		b, ok := ev.Body.(ponder.RunStarted)
		if !ok || b.Mode != session.Name {
			continue
		}
		if len(b.Options) > 0 && json.Unmarshal(b.Options, &o) != nil {
			return session.Options{}, errors.New("cannot read the options of the run")
		}
		return o, nil
	}
	return o, nil
}

// modelOf returns the model that continues a thread: asked, else the configured one, as "", if
// the thread began with it, else the original one.
func (s *Service) modelOf(ctx context.Context, info ponder.Info, asked string) (string, error) {
	if asked != "" || info.Model == "" {
		return asked, nil
	}
	l, err := s.ModelSet(ctx, "")
	if err != nil {
		return "", err
	}
	if slow := l.Choices.ForRole(ponder.Slow).Models; slow != nil && slow[0] == info.Model {
		return "", nil
	}
	return info.Model, nil
}
