// Package protocoltest tests protocols with a Dispatcher, an in-memory store, an engine with a scripted model, and
// real authentication.
//
// In a testing/synctest bubble, use [Rig.Do] and [Rig.Stream]. [Rig.Server] serves real clients outside of
// bubbles.
package protocoltest

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/placement"
	"ponder/internal/stream"
	"ponder/internal/taint"
	"ponder/llm"
	"ponder/mode/chat"
	"ponder/mode/passthrough"
	"ponder/mode/research"
	"ponder/mode/session"
	"ponder/mode/title"
	"ponder/store/memory"
)

// The tokens of a rig.
const (
	Mine = "mine" // of local, all scopes
	Hers = "hers" // of anna, all scopes
	Look = "look" // of local, read only
)

const Owner = "local"

// The zero Options have a plausible model and no tools.
type Options struct {
	Model     *Model
	Others    []llm.Model   // further models
	Tools     []ponder.Tool // such as [Lookups]
	Aliases   map[string]string
	Retry     llm.Policy
	Hosts     llm.Provider // the models named host/NAME
	HostsOnly bool         // only Hosts think
	Gate      func(chat.ToolUse) taint.Decision

	ExchangeGate taint.Gate
	Store        ponder.Store // of an earlier rig; nil: a new one

	// Routes returns handlers by pattern.
	Routes func(*compat.Dispatcher) map[string]http.Handler
	// Refuse is as in httpapi.Config.
	Refuse func(w http.ResponseWriter, r *http.Request, why *auth.Refusal) bool
}

type Rig struct {
	*Service
	Desk    *compat.Dispatcher
	Handler http.Handler // with authentication
	Stop    func()       // signals that the server stops
	Close   func()       // ends all work; the end of a test calls it

	t *testing.T
}

// New returns a rig, which the test closes.
func New(t *testing.T, o Options) *Rig {
	t.Helper()
	if o.Model == nil {
		o.Model = &Model{}
	}
	store := o.Store
	if store == nil {
		store = memory.New()
	}
	hub := stream.New(store)
	s := newService(store, o)
	mind, relays, of := newMinds(t, store, hub, o)
	work := func(ctx context.Context, id ponder.ThreadID) error {
		info, err := store.Thread(ctx, id)
		switch name, hosted := strings.CutPrefix(info.Model, hostPrefix); {
		case err == nil && info.Kind == ponder.KindExchange:
			return relays.Work(ctx, id)
		case err == nil && hosted && o.Hosts != nil:
			theirs, err := of(o.Hosts.Model(name))
			if err != nil {
				return err
			}
			return theirs.Work(ctx, id)
		}
		return mind.Work(ctx, id)
	}
	s.mind = mind
	s.place = placement.Memory(placement.Config{Store: store, Work: work, Ended: mind.ReturnUnclaimed, Logger: slog.New(slog.DiscardHandler)})
	gone, stop := context.WithCancel(context.Background())
	r := &Rig{Service: s, Stop: stop, t: t}
	r.Desk = &compat.Dispatcher{Store: store, Hub: hub, Service: s, Aliases: o.Aliases, Gone: gone, Since: time.Now(), Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}
	mux := http.NewServeMux()
	if o.Routes != nil {
		for pattern, h := range o.Routes(r.Desk) {
			mux.Handle(pattern, h)
		}
	}
	r.Handler = withAuth(mux, o)
	r.Close = sync.OnceFunc(func() {
		stop()
		if err := s.place.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := mind.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(r.Close)
	return r
}

const hostPrefix = "host/"

// newMinds returns engines for all modes, for exchanges, and for other models.
func newMinds(t *testing.T, store ponder.Store, hub *stream.Hub, o Options) (mind, relays *engine.Engine, of func(llm.Model) (*engine.Engine, error)) {
	t.Helper()
	specs := make([]llm.Tool, 0, len(o.Tools))
	for _, tool := range o.Tools {
		specs = append(specs, tool.Tool)
	}
	models := func(m llm.Model, price ponder.Price) map[ponder.Role][]ponder.Model {
		chain := []ponder.Model{{Model: m, Price: price}}
		return map[ponder.Role][]ponder.Model{ponder.Fast: chain, ponder.Slow: chain, ponder.Cheap: chain, ponder.Frontier: chain}
	}
	c := engine.Config{
		Store: store, Tools: o.Tools, OnDelta: hub.Delta, Retry: o.Retry, Logger: slog.New(slog.DiscardHandler),
		Models: models(o.Model, ponder.Price{Source: ponder.PriceTable, Input: 1, Output: 5}),
		Modes:  []ponder.Mode{chat.New(chat.Options{Tools: specs, Gate: o.Gate}), session.New(), research.New(), title.New()},
	}
	mind, err := engine.New(c)
	if err == nil {
		err = mind.Open(context.Background())
	}
	of = func(m llm.Model) (*engine.Engine, error) {
		other := c
		other.Models = models(m, ponder.Price{Source: ponder.PriceLocal})
		return mind.Derive(other)
	}
	if err == nil {
		exchanges := c
		exchanges.Modes = []ponder.Mode{passthrough.New(passthrough.Config{Tools: specs, Gate: o.ExchangeGate})} // exchanges need no title
		relays, err = mind.Derive(exchanges)
	}
	if err != nil {
		t.Fatal(err)
	}
	return mind, relays, of
}

// withAuth authenticates like internal/httpapi.
func withAuth(next http.Handler, o Options) http.Handler {
	guard := auth.New(auth.Config{Tokens: []auth.Token{
		{Name: "local", Owner: Owner, Scopes: auth.Scopes(), Hash: auth.HashOf(Mine)},
		{Name: "anna", Owner: "anna", Scopes: auth.Scopes(), Hash: auth.HashOf(Hers)},
		{Name: "eye", Owner: Owner, Scopes: []auth.Scope{auth.Read}, Hash: auth.HashOf(Look)},
	}})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, refused := guard.Check(r)
		if refused == nil {
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
			next.ServeHTTP(w, r.WithContext(auth.WithCaller(r.Context(), caller)))
			return
		}
		if refused.Retry > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(refused.Retry/time.Second)+1))
		}
		if o.Refuse == nil || !o.Refuse(w, r, refused) {
			http.Error(w, refused.Detail, refused.Status)
		}
	})
}

const maxBody = 8 << 20 // as in internal/httpapi

// Server is not for synctest bubbles.
func (r *Rig) Server() *httptest.Server {
	s := httptest.NewServer(r.Handler)
	r.t.Cleanup(func() {
		r.Stop()
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (r *Rig) CollectParts(w compat.Job, titled bool) (list []compat.Part) {
	r.t.Helper()
	f := r.Desk.OpenStream(context.Background(), w, titled)
	defer f.Close()
	return r.RemainingParts(f)
}

func (r *Rig) RemainingParts(f *compat.Stream) (list []compat.Part) {
	r.t.Helper()
	for {
		more, err := f.Next(context.Background())
		switch {
		case err == compat.ErrQuiet: //nolint:errorlint // as it is returned
			continue
		case err != nil:
			r.t.Fatalf("a feed ended behind %d parts: %v", len(list), err)
		}
		if list = append(list, more...); list[len(list)-1].Kind == compat.Ended {
			return list
		}
	}
}

// Start starts a; its owner defaults to [Owner].
func (r *Rig) Start(a compat.Request) compat.Job {
	r.t.Helper()
	a.Owner = cmp.Or(a.Owner, Owner)
	w, err := r.Desk.Begin(context.Background(), a)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(w.Forget)
	return w
}

func (r *Rig) Events(id ponder.ThreadID) (list []ponder.Event) {
	r.t.Helper()
	for ev, err := range r.Store.Events(context.Background(), id, 0) {
		if err != nil {
			r.t.Fatal(err)
		}
		list = append(list, ev)
	}
	return list
}

func (r *Rig) Threads(owner string) []ponder.Info {
	r.t.Helper()
	list, err := r.Store.List(context.Background(), ponder.Filter{Owner: owner})
	if err != nil {
		r.t.Fatal(err)
	}
	slices.SortFunc(list, func(a, b ponder.Info) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

func Tool(name string) llm.Tool {
	return llm.Tool{Name: name, Doc: name, Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)}
}
