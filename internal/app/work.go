package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	sockets "net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/internal/config"
	"ponder/internal/retention"
	"ponder/internal/textkit"
	"ponder/mode/chat"
	"ponder/mode/passthrough"
	"ponder/mode/research"
)

// work works on a thread: the Work of the server's placement.
func (s *Service) work(ctx context.Context, id ponder.ThreadID) error {
	known, err := s.briefed(ctx, id)
	info := known.info
	if err != nil {
		return err
	}
	if info.Kind == ponder.KindSubconscious {
		return s.Minds.work(ctx, info)
	}
	o, err := s.outfitOf(ctx, known)
	if err != nil {
		return fmt.Errorf("%s is not taken: %w", id, err)
	}
	mind, leave, err := s.outfits.wear(ctx, o)
	if err != nil {
		return fmt.Errorf("%s is not taken: %w", id, err)
	}
	defer leave()
	if info.Kind == ponder.KindConversation {
		defer s.casts.open(ctx, s.App, id)()
		defer s.atRest(context.WithoutCancel(ctx), id)
		if o.Payer != "" {
			s.atRest(ctx, id) // another process that had it was killed
		}
	}
	err = mind.Work(ctx, id)
	s.worked(context.WithoutCancel(ctx), info)
	return err
}

// worked does what is to be done after work on a thread, of which info was known before.
func (s *Service) worked(ctx context.Context, before ponder.Info) {
	now, err := s.Store.Thread(ctx, before.ID)
	if err != nil {
		return
	}
	switch {
	case now.Kind == ponder.KindConversation:
		s.forgetThoughts(ctx, now.ID, before.Head)
	case now.Kind == ponder.KindExchange: // it is nothing to remember
	case now.Status == ponder.Completed && before.Status != ponder.Completed:
		a := s.as(now.Owner)
		w := a.SessionView(s.Store, now.ID)
		if err := w.Read(ctx, 0); err == nil {
			w.Keep(ctx, s.Store)
		}
		if _, err := s.Store.Thread(ctx, now.ID); errors.Is(err, ponder.ErrNoThread) { // removed meanwhile
			if _, err := a.forgetThread(ctx, s.Store, now.ID); err != nil {
				slog.Warn("a session that is removed is remembered", "thread", now.ID, "error", err)
			}
		}
	}
}

// forgetThoughts erases thoughts of a conversation, after an event, that are not to be
// kept.
func (s *Service) forgetThoughts(ctx context.Context, id ponder.ThreadID, after ponder.Seq) {
	rule, err := s.Settings.Thinking.Rule()
	if err != nil || rule.Keeps() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, TidyTime)
	defer cancel()
	if _, err := retention.Apply(ctx, s.Store, id, max(0, after-1), rule, time.Now()); err != nil {
		slog.Warn("thoughts that are not to be kept are still there", "thread", id, "error", err)
	}
}

// dress makes the mind of an outfit, and returns what ends the use of what it looks
// through.
func (s *Service) dress(o engineSpec) (*engine.Engine, func(), error) {
	ctx, cancel := context.WithTimeout(s.life, dressTime)
	defer cancel()
	a := s.as(o.Owner)
	t := ChatSetup{Sources: o.sight()}
	var err error
	switch {
	case o.Kind == ponder.KindConversation:
		t, err = a.talkingIn(ctx, o)
	case o.Kind == ponder.KindExchange:
		t, err = a.relayingIn(ctx, o)
	case !o.Alone:
		t.Models, err = a.thinkingModels(ctx, o)
	}
	if err != nil {
		return nil, nil, err
	}
	if t.Models, err = s.paid(ctx, o, t.Models); err != nil {
		return nil, nil, err
	}
	c, end, err := a.equip(context.WithoutCancel(ctx), s.Store, &t)
	if err != nil {
		return nil, nil, err
	}
	c.OnDelta = s.heard(o.Kind)
	mind, err := s.mind.Derive(c)
	if err != nil {
		end()
		return nil, nil, err
	}
	return mind, end, nil
}

// dressTime is how long it may take to find the models of an outfit.
const dressTime = 30 * time.Second

// thinkingModels returns the models of sessions and research.
func (a *App) thinkingModels(ctx context.Context, o engineSpec) (map[ponder.Role][]ponder.Model, error) {
	l, err := a.ModelSet(ctx, o.Model)
	if err != nil {
		return nil, err
	}
	models, err := l.Chains(rolesOf(o.Kind)...)
	if err == nil && len(models[ponder.Slow]) == 0 {
		err = NoModel(l.Missed)
	}
	return models, err
}

// talkingIn returns how conversations of an outfit are held.
func (a *App) talkingIn(ctx context.Context, o engineSpec) (ChatSetup, error) {
	t, err := a.ChatSetup(ctx, o.Model, o.Memory)
	if err != nil {
		return t, err
	}
	t.Sources = o.sight()
	says := []string{t.Config.Prompts[chat.Name]}
	if o.Persona != "" {
		voice, err := a.PersonaVoice(ctx, o.Persona)
		if err != nil {
			return t, err
		}
		says = append(says, "You answer as "+textkit.OneLine(voice.Name)+", without saying that you play a role. Their voice:\n"+voice.Voice)
	}
	if o.System != "" {
		says = append(says, saysOfSystem(o.System))
	}
	if len(says) == 1 {
		return t, nil
	}
	if t.Config.Prompts = maps.Clone(t.Config.Prompts); t.Config.Prompts == nil {
		t.Config.Prompts = make(map[string]string)
	}
	t.Config.Prompts[chat.Name] = strings.TrimSpace(strings.Join(says, "\n\n"))
	return t, nil
}

// heard returns what takes in what models write on threads of a kind: only words that
// are for the user are told.
func (s *Service) heard(kind ponder.Kind) func(ponder.Delta) {
	return func(d ponder.Delta) {
		switch kind {
		case ponder.KindConversation:
			if chat.WritesAnswer(d.Key) {
				s.Hub.Delta(d)
				s.casts.add(d)
			}
		case ponder.KindExchange:
			if strings.HasPrefix(d.Key, passthrough.AskKey) {
				s.Hub.Delta(d)
			}
		case ponder.KindResearch:
			if research.WritesAnswer(d.Key) {
				s.Hub.Delta(d)
			}
		case ponder.KindSession: // of which models write JSON
			if shown, ok := s.writings.Hear(d); ok {
				s.Hub.Delta(shown)
			}
		}
	}
}

// Casts tell other processes what is written on the conversations at work here.
type broadcasters struct {
	mu   sync.Mutex
	list map[ponder.ThreadID]*DeltaBroadcaster
}

// castAfter is when a socket is made: what is done before a model is asked goes first.
const castAfter = 2 * time.Millisecond

// open begins to tell what is written on a conversation, until close. Work does not wait
// for the socket.
func (c *broadcasters) open(ctx context.Context, a *App, id ponder.ThreadID) (closeIt func()) {
	one, listening := &DeltaBroadcaster{subs: make(map[chan deltaFrame]bool)}, make(chan struct{})
	soon := time.AfterFunc(castAfter, func() {
		defer close(listening)
		if l := a.castOn(ctx, id); l != nil {
			one.begin(l)
		}
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list[id] = one
	return func() {
		c.mu.Lock()
		delete(c.list, id)
		c.mu.Unlock()
		if !soon.Stop() {
			<-listening // the next may listen at the same place
		}
		one.Close()
	}
}

func (c *broadcasters) add(d ponder.Delta) {
	c.mu.Lock()
	one := c.list[d.Thread]
	c.mu.Unlock()
	one.Add(d)
}

// limitsOf returns the limits of a run: those that are asked for, else those that are
// configured, else a time.
func limitsOf(asked ponder.Budget, c config.Budgets, otherwise time.Duration) ponder.Budget {
	b := asked
	if b.Time == 0 {
		b.Time = time.Duration(c.For)
	}
	if b.Time == 0 {
		b.Time = otherwise
	}
	if b.Tokens == 0 {
		b.Tokens = c.Tokens
	}
	if b.Calls == 0 {
		b.Calls = c.Calls
	}
	if b.Money == 0 {
		b.Money = MoneyOf(c.Cost)
	}
	return b
}

// A caster tells other processes of the same user what is being written on a thread
// that this one holds, so that an answer streams wherever it is waited for. It is a
// courtesy: whoever hears nothing, or not all, has the answer from the log.
//
// It listens on a socket in ponder/live of the folder for state, which is named after
// the thread and the process, and sends a JSON object a line: {"key", "piece"}, first
// what the call that goes on has written so far.
type DeltaBroadcaster struct {
	mu       sync.Mutex
	Listener sockets.Listener // nil until others may hear
	key      string           // of the call that goes on
	written  []byte           // by it
	subs     map[chan deltaFrame]bool
	over     bool
}

// A casting is a piece of what a call writes.
type deltaFrame struct {
	Key   string `json:"key"`
	Piece string `json:"piece"`
}

// Bounds of casting.
const (
	maxSocket   = 100 // bytes of a socket's name, which systems allow
	maxCast     = 1 << 20
	castBuffer  = 1024 // pieces that wait for who hears them; then pieces are left out
	castPatient = time.Second
)

// liveDir is where the sockets are.
func (a *App) liveDir() (string, error) {
	dir, err := a.Settings.StateDir()
	return filepath.Join(dir, "live"), err
}

// cast begins to tell what is written on a thread. Where that cannot be, it returns
// nil, which tells nothing.
func (a *App) Cast(ctx context.Context, id ponder.ThreadID) *DeltaBroadcaster {
	l := a.castOn(ctx, id)
	if l == nil {
		return nil
	}
	c := &DeltaBroadcaster{subs: make(map[chan deltaFrame]bool)}
	c.begin(l)
	return c
}

// castOn listens for those who want to hear what is written on a thread. Where that
// cannot be, it returns nil.
func (a *App) castOn(ctx context.Context, id ponder.ThreadID) sockets.Listener {
	dir, err := a.liveDir()
	if err != nil || os.MkdirAll(dir, 0o700) != nil {
		return nil
	}
	file := filepath.Join(dir, fmt.Sprintf("%s.%d", id, os.Getpid()))
	if len(file) > maxSocket {
		return nil
	}
	l, err := new(sockets.ListenConfig).Listen(ctx, "unix", file)
	if err != nil {
		return nil
	}
	return l
}

// begin lets others hear from now on, unless it is over.
func (c *DeltaBroadcaster) begin(l sockets.Listener) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		l.Close()
		return
	}
	c.Listener = l
	go c.serve(l)
}

// add takes in what a model writes. It does not wait.
func (c *DeltaBroadcaster) Add(d ponder.Delta) {
	if c == nil || d.Text == "" || !strings.HasPrefix(d.Key, TurnKey) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if d.Key != c.key {
		c.key, c.written = d.Key, c.written[:0]
	}
	if len(c.written) < maxCast {
		c.written = append(c.written, d.Text...)
	}
	for sub := range c.subs {
		select {
		case sub <- deltaFrame{d.Key, d.Text}:
		default:
		}
	}
}

// serve lets others hear.
func (c *DeltaBroadcaster) serve(l sockets.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		sub := make(chan deltaFrame, castBuffer)
		c.mu.Lock()
		if c.over {
			c.mu.Unlock()
			conn.Close()
			return
		}
		sub <- deltaFrame{c.key, string(c.written)}
		c.subs[sub] = true
		c.mu.Unlock()
		go c.tell(conn, sub)
	}
}

// tell sends pieces until there are no more, or nobody takes them.
func (c *DeltaBroadcaster) tell(conn sockets.Conn, sub chan deltaFrame) {
	defer conn.Close()
	out := json.NewEncoder(conn)
	for piece := range sub {
		if conn.SetWriteDeadline(time.Now().Add(castPatient)) != nil || out.Encode(piece) != nil {
			c.mu.Lock()
			delete(c.subs, sub)
			c.mu.Unlock()
			return
		}
	}
}

// close ends it, and takes the socket away.
func (c *DeltaBroadcaster) Close() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	if c.Listener != nil {
		c.Listener.Close()
	}
	for sub := range c.subs {
		close(sub)
		delete(c.subs, sub)
	}
}

// overhear hears what another process writes on a thread, until ctx is done.
func (a *App) Overhear(ctx context.Context, id ponder.ThreadID, hear func(ponder.Delta)) {
	dir, err := a.liveDir()
	if err != nil {
		return
	}
	files, _ := filepath.Glob(filepath.Join(dir, string(id)+".*")) // of a bad pattern, none
	for _, file := range files {
		if strings.HasSuffix(file, fmt.Sprintf(".%d", os.Getpid())) {
			continue
		}
		conn, err := new(sockets.Dialer).DialContext(ctx, "unix", file)
		if err != nil { // of a process that was killed
			os.Remove(file)
			continue
		}
		context.AfterFunc(ctx, func() { conn.Close() })
		go func() {
			defer conn.Close()
			in := json.NewDecoder(conn)
			for {
				var piece deltaFrame
				if in.Decode(&piece) != nil {
					return
				}
				d := ponder.Delta{Thread: id, Key: piece.Key}
				d.Text = piece.Piece
				hear(d)
			}
		}()
	}
}
