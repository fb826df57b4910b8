package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/internal/auth"
	"ponder/internal/mindrunner"
	"ponder/internal/placement"
	"ponder/internal/textkit"
	"ponder/knowledge/recall"
	"ponder/mode/subconscious"
	"ponder/sensor"
	"ponder/sensor/own"
	"ponder/tool/memory"
)

// minds runs the subconscious of each owner. Only the local user's has the configured sensors.
// It is safe for concurrent use.
type minds struct {
	s      *Service
	placed placement.Config                                      // for schedules
	make   func(context.Context, string, *keptMind) error        // fills in an owner's mind
	thinks func(ctx context.Context, who string) (string, error) // names the models that would think now

	mu   sync.Mutex
	list map[string]*keptMind

	reading sync.Mutex
	logs    map[string]*keptLog
}

type keptMind struct {
	*mindrunner.Minder
	mind   *engine.Engine
	thinks string // the models in use
	ends   []func() error

	users  int
	looked time.Time
	old    bool // other models would think now
}

type keptLog struct {
	subconscious.View
	head ponder.Seq
	made time.Time
}

func newMinds(s *Service) *minds {
	m := &minds{s: s, list: make(map[string]*keptMind), logs: make(map[string]*keptLog)}
	m.make = m.furnish
	m.thinks = func(ctx context.Context, who string) (string, error) {
		cast, err := s.as(who).MindCastOf(ctx)
		if err != nil {
			return "", err
		}
		return cast.Says(), nil
	}
	return m
}

// of returns the subconscious of an owner until back is called. It rebuilds an unused one if
// its models changed.
func (m *minds) of(ctx context.Context, who string) (k *keptMind, back func(), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k = m.list[who]
	if k != nil && k.users == 0 && m.isOld(ctx, who, k) {
		delete(m.list, who)
		if err := k.close(); err != nil {
			slog.Warn("close the subconscious", "owner", who, "error", err)
		}
		k = nil
	}
	if k == nil {
		k = &keptMind{looked: time.Now()}
		if err := m.make(context.WithoutCancel(ctx), who, k); err != nil {
			return nil, nil, errors.Join(err, k.close())
		}
		m.list[who] = k
	}
	k.users++
	return k, sync.OnceFunc(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		k.users--
	}), nil
}

// isOld reports whether the models changed since the mind was made. The caller holds m.mu.
func (m *minds) isOld(ctx context.Context, who string, k *keptMind) bool {
	if k.old || time.Since(k.looked) < mindLife {
		return k.old
	}
	k.looked = time.Now()
	now, err := m.thinks(ctx, who)
	k.old = err == nil && now != k.thinks
	return k.old
}

// untilOld blocks until the models change or ctx is done.
func (m *minds) untilOld(ctx context.Context, who string, k *keptMind) {
	tick := time.NewTicker(mindLife)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		m.mu.Lock()
		old := m.isOld(ctx, who, k)
		m.mu.Unlock()
		if old {
			return
		}
	}
}

func (m *minds) furnish(ctx context.Context, who string, k *keptMind) error {
	a := m.s.as(who)
	cast, err := a.MindCastOf(ctx)
	if err != nil {
		return err
	}
	k.thinks = cast.Says()
	options := a.MindOptions(cast)
	ticks := placement.Memory(m.placed)
	k.ends = append(k.ends, func() error { return closing(ticks.Close) })
	keep := a.keeper(m.s.Store)
	k.ends = append(k.ends, func() error { keep.close(); return nil })
	k.mind, err = m.s.mind.Derive(engine.Config{
		Modes: subconscious.New(options), Models: cast.models, Tools: memory.New(memory.Options{Keep: keep.keep, Source: mindSource}),
	})
	if err != nil {
		return err
	}
	c := mindrunner.Config{Store: m.s.Log, Place: mindPlace{m.s.place, ticks}, Owner: who, Options: options, LookUp: a.mindLookUp(m.s.Store, cast.roles).lookUp}
	if who == LocalOwner {
		look, err := a.MindSensors(ctx, m.s.Store)
		if err != nil {
			return err
		}
		k.ends = append(k.ends, look.Close)
		if c.Channels, err = a.MindChannels(); err != nil {
			return err
		}
		c.Sensors = look.Sensors
	} else {
		c.Sensors = []sensor.Sensor{m.ownSensor(who)}
	}
	k.Minder, err = mindrunner.New(MindConfig(m.s.Settings, c))
	return err
}

func (m *minds) ownSensor(who string) sensor.Sensor {
	one := own.New(own.Options{Store: m.s.Store, Owner: who, Memories: func(ctx context.Context) ([]own.Memory, error) {
		lib, err := m.s.shelves.Provider(who)(ctx)
		if err != nil {
			return nil, err
		}
		defer lib.Release()
		return ownMemories(ctx, lib.Library)
	}})
	one.Name = "own"
	return one
}

func ownMemories(ctx context.Context, lib *recall.Library) (list []own.Memory, err error) {
	items, err := lib.List(ctx, recall.Filter{Kinds: []recall.Kind{recall.KindMemory, recall.KindJournal}, N: mostMemories})
	if err != nil {
		return nil, err
	}
	for _, it := range items {
		list = append(list, own.Memory{ID: it.ID, Text: it.Text, Ours: it.Source == mindSource, Untrusted: it.Link != "" || it.Original != ""})
	}
	return list, nil
}

func (k *keptMind) close() error {
	var errs []error
	for i := len(k.ends) - 1; i >= 0; i-- {
		errs = append(errs, k.ends[i]())
	}
	return errors.Join(errs...)
}

func (m *minds) work(ctx context.Context, info ponder.Info) error {
	if info.ID != mindrunner.Thread(info.Owner) {
		return fmt.Errorf("%s is not taken: it is the subconscious of nobody here", info.ID)
	}
	k, back, err := m.of(ctx, info.Owner)
	if err != nil {
		return fmt.Errorf("%s is not taken: %w", info.ID, err)
	}
	defer back()
	return k.mind.Work(ctx, info.ID)
}

// retryMind is the interval of checks whether another process still runs the subconscious.
const retryMind = time.Minute

// MindOwners returns the owners whose subconscious a server runs: the local user, and owners of
// tokens that may think.
func MindOwners(guard auth.Config) []string {
	list := []string{LocalOwner}
	for _, t := range guard.Tokens {
		if slices.Contains(t.Scopes, auth.Think) && !slices.Contains(list, t.Owner) {
			list = append(list, t.Owner)
		}
	}
	return list
}

func (m *minds) KeepAll(ctx context.Context, owners []string) {
	var all sync.WaitGroup
	for _, who := range owners {
		all.Go(func() { m.keep(ctx, who) })
	}
	all.Wait()
}

// keep runs the subconscious of an owner until ctx is done, unless another process does.
func (m *minds) keep(ctx context.Context, who string) {
	said := ""
	for ctx.Err() == nil {
		err := m.run(ctx, who)
		if err == nil || ctx.Err() != nil {
			continue
		}
		if text := textkit.OneLine(err.Error()); text != said {
			said = text
			m.s.Warn(fmt.Errorf("the subconscious of %s does not tick here: %s", who, text))
		}
		select {
		case <-time.After(retryMind):
		case <-ctx.Done():
		}
	}
}

// run runs the subconscious of an owner until its models change. The next models finish an
// interrupted tick.
func (m *minds) run(ctx context.Context, who string) error {
	unlock, err := m.only(who)
	if err != nil {
		return err
	}
	defer unlock()
	k, back, err := m.of(ctx, who)
	if err != nil {
		return err
	}
	defer back()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		defer stop()
		m.untilOld(ctx, who, k)
	}()
	return k.Run(ctx)
}

// only excludes other processes from running the subconscious of an owner, until unlock.
func (m *minds) only(who string) (unlock func(), err error) {
	if who == LocalOwner {
		return m.s.OnlyMind()
	}
	file, err := m.s.MindLock()
	if err != nil {
		return nil, err
	}
	unlock, other, err := LockFile(strings.TrimSuffix(file, ".lock") + "-" + shortHash(who) + ".lock")
	switch {
	case err != nil:
		return nil, fmt.Errorf("keep the subconscious: %w", err)
	case unlock == nil:
		return nil, fmt.Errorf("another process (%s) keeps it going already", other)
	}
	return unlock, nil
}

func closing(end func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), CloseTime)
	defer cancel()
	return end(ctx)
}

// close closes all minds. None may be at work.
func (m *minds) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for who, k := range m.list {
		if err := k.close(); err != nil {
			slog.Warn("close the subconscious", "owner", who, "error", err)
		}
	}
	clear(m.list)
}

func (s *Service) Thread(who string) ponder.ThreadID { return mindrunner.Thread(who) }

// logLife is how long a cached log is extended before a full read, since contents may have been
// erased.
const logLife = 10 * time.Second

func (s *Service) Mind(ctx context.Context, who string) (json.RawMessage, error) {
	m := s.Minds
	m.reading.Lock()
	defer m.reading.Unlock()
	now := time.Now()
	kept := m.logs[who]
	if kept == nil || now.Sub(kept.made) > logLife {
		kept = &keptLog{View: subconscious.NewView(), made: now}
		m.logs[who] = kept
	}
	for ev, err := range s.Store.Events(ctx, mindrunner.Thread(who), kept.head) {
		if errors.Is(err, ponder.ErrNoThread) {
			break
		}
		if err != nil {
			delete(m.logs, who)
			return nil, fmt.Errorf("read the subconscious: %w", err)
		}
		kept.head, kept.View = ev.Seq, kept.View.Apply(ev)
	}
	state := kept.State
	if kept.head > 0 {
		state = state.At(now)
	}
	return state.MarshalMind()
}

func (s *Service) Tick(ctx context.Context, who string) (json.RawMessage, error) {
	k, back, err := s.Minds.of(ctx, who)
	if err != nil {
		return nil, err
	}
	defer back()
	var report mindrunner.Report
	thread := ponder.Info{Thread: ponder.Thread{ID: mindrunner.Thread(who), Kind: ponder.KindSubconscious, Owner: who}}
	err = s.goesOn(ctx, thread, func() error {
		report, err = k.Minder.Tick(ctx, false)
		return err
	})
	if err != nil {
		return nil, err
	}
	js, err := json.Marshal(TickReport{report, TroubleOf(k.Status())})
	if err != nil {
		return nil, fmt.Errorf("report a tick: %w", err)
	}
	return js, nil
}

var _ Dialects = (*Service)(nil)

// OnlyMind excludes other processes from running the subconscious of this database, until
// unlock.
func (a *App) OnlyMind() (unlock func(), err error) {
	file, err := a.MindLock()
	if err != nil {
		return nil, err
	}
	unlock, other, err := LockFile(file)
	if err != nil {
		return nil, fmt.Errorf("keep the subconscious: %w", err)
	}
	if unlock == nil {
		return nil, Invalidf("", "another process (%s) keeps the subconscious going already: `ponder mind log` shows what it does", other)
	}
	return unlock, nil
}

func (a *App) MindLock() (string, error) {
	dir, err := a.Settings.StateDir()
	if err != nil {
		return "", err
	}
	db, err := filepath.Abs(a.Settings.DB)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(db); err == nil {
		db = real
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return filepath.Join(dir, fmt.Sprintf("mind-%s.lock", shortHash(db))), nil
}

// A TickReport is the result of a tick, with the errors of sensors by name.
type TickReport struct {
	mindrunner.Report
	Trouble map[string]string `json:"trouble,omitempty"`
}

func TroubleOf(list []mindrunner.Watched) map[string]string {
	trouble := make(map[string]string)
	for _, w := range list {
		if w.Error != "" {
			trouble[w.Sensor] = textkit.OneLine(w.Error)
		}
	}
	return trouble
}

func MindID() ponder.ThreadID { return subconscious.ThreadOf(LocalOwner) }

func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}
