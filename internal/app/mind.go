package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/internal/auth"
	"ponder/internal/fileio"
	"ponder/internal/mindrunner"
	"ponder/internal/placement"
	"ponder/internal/stream"
	"ponder/internal/textkit"
	"ponder/knowledge/lookup"
	"ponder/knowledge/recall"
	"ponder/mode/subconscious"
	"ponder/sensor"
	ponderthreads "ponder/sensor/ponder"
	"ponder/tool/memory"
)

// minds runs the subconscious of each owner. Only the local user's has the configured sensors.
// It is safe for concurrent use.
type minds struct {
	s          *Service
	placed     placement.Config                                      // for schedules
	make       func(context.Context, string, *pooledMind) error      // fills in an owner's mind
	modelNames func(ctx context.Context, who string) (string, error) // names the models that would think now

	mu   sync.Mutex
	list map[string]*pooledMind

	reading sync.Mutex
	logs    map[string]*cachedView
}

type pooledMind struct {
	*mindrunner.Runner
	engine  *engine.Engine
	models  string // the models in use
	closers []func() error

	users     int
	checkedAt time.Time
	outdated  bool // other models would think now
}

type cachedView struct {
	subconscious.View
	head ponder.Seq
	made time.Time
}

func newMinds(s *Service) *minds {
	m := &minds{s: s, list: make(map[string]*pooledMind), logs: make(map[string]*cachedView)}
	m.make = m.configure
	m.modelNames = func(ctx context.Context, who string) (string, error) {
		cast, err := s.forOwner(who).MindCastOf(ctx)
		if err != nil {
			return "", err
		}
		return cast.Describe(), nil
	}
	return m
}

// acquire returns the subconscious of an owner until back is called. It rebuilds an unused one if
// its models changed.
func (m *minds) acquire(ctx context.Context, who string) (k *pooledMind, back func(), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k = m.list[who]
	if k != nil && k.users == 0 && m.isOutdated(ctx, who, k) {
		delete(m.list, who)
		if err := k.close(); err != nil {
			slog.Warn("close the subconscious", "owner", who, "error", err)
		}
		k = nil
	}
	if k == nil {
		k = &pooledMind{checkedAt: time.Now()}
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

// isOutdated reports whether the models changed since the mind was made. The caller holds m.mu.
func (m *minds) isOutdated(ctx context.Context, who string, k *pooledMind) bool {
	if k.outdated || time.Since(k.checkedAt) < engineLife {
		return k.outdated
	}
	k.checkedAt = time.Now()
	now, err := m.modelNames(ctx, who)
	k.outdated = err == nil && now != k.models
	return k.outdated
}

// waitOutdated blocks until the models change or ctx is done.
func (m *minds) waitOutdated(ctx context.Context, who string, k *pooledMind) {
	tick := time.NewTicker(engineLife)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		m.mu.Lock()
		old := m.isOutdated(ctx, who, k)
		m.mu.Unlock()
		if old {
			return
		}
	}
}

func (m *minds) configure(ctx context.Context, who string, k *pooledMind) error {
	a := m.s.forOwner(who)
	cast, err := a.MindCastOf(ctx)
	if err != nil {
		return err
	}
	k.models = cast.Describe()
	options := a.MindOptions(cast)
	ticks := placement.Memory(m.placed)
	k.closers = append(k.closers, func() error { return closeWithTimeout(ticks.Close) })
	keep := a.memoryWriter(m.s.Store)
	k.closers = append(k.closers, func() error { keep.close(); return nil })
	k.engine, err = m.s.rootEngine.Derive(engine.Config{
		Modes: subconscious.New(options), Models: cast.models, Tools: memory.New(memory.Options{Keep: keep.saveItems, Source: mindSource}),
	})
	if err != nil {
		return err
	}
	c := mindrunner.Config{Store: m.s.Log, Placement: mindPlace{m.s.place, ticks}, Owner: who, Options: options, LookUp: a.newRoleLookup(m.s.Store, cast.roles).lookUp}
	if who == LocalOwner {
		look, err := a.MindSensors(ctx, m.s.Store)
		if err != nil {
			return err
		}
		k.closers = append(k.closers, look.Close)
		if c.Channels, err = a.MindChannels(); err != nil {
			return err
		}
		c.Sensors = look.Sensors
	} else {
		c.Sensors = []sensor.Sensor{m.ownSensor(who)}
	}
	k.Runner, err = mindrunner.New(MindConfig(m.s.Settings, c))
	return err
}

func (m *minds) ownSensor(who string) sensor.Sensor {
	one := ponderthreads.New(ponderthreads.Options{Store: m.s.Store, Owner: who, Memories: func(ctx context.Context) ([]ponderthreads.Memory, error) {
		lib, err := m.s.libraries.Provider(who)(ctx)
		if err != nil {
			return nil, err
		}
		defer lib.Release()
		return ownMemories(ctx, lib.Library)
	}})
	one.Name = "own"
	return one
}

func ownMemories(ctx context.Context, lib *recall.Library) (list []ponderthreads.Memory, err error) {
	items, err := lib.List(ctx, recall.Filter{Kinds: []recall.Kind{recall.KindMemory, recall.KindJournal}, N: maxMemories})
	if err != nil {
		return nil, err
	}
	for _, it := range items {
		list = append(list, ponderthreads.Memory{ID: it.ID, Text: it.Text, FromSubconscious: it.Source == mindSource, Untrusted: it.Link != "" || it.Original != ""})
	}
	return list, nil
}

func (k *pooledMind) close() error {
	var errs []error
	for i := len(k.closers) - 1; i >= 0; i-- {
		errs = append(errs, k.closers[i]())
	}
	return errors.Join(errs...)
}

func (m *minds) workThread(ctx context.Context, info ponder.Info) error {
	if info.ID != mindrunner.Thread(info.Owner) {
		return fmt.Errorf("cannot work on %s: the subconscious belongs to no configured owner", info.ID)
	}
	k, back, err := m.acquire(ctx, info.Owner)
	if err != nil {
		return fmt.Errorf("cannot work on %s: %w", info.ID, err)
	}
	defer back()
	return k.engine.Work(ctx, info.ID)
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
		all.Go(func() { m.keepRunning(ctx, who) })
	}
	all.Wait()
}

// keepRunning runs the subconscious of an owner until ctx is done, unless another process does.
func (m *minds) keepRunning(ctx context.Context, who string) {
	said := ""
	for ctx.Err() == nil {
		err := m.runUntilChanged(ctx, who)
		if err == nil || ctx.Err() != nil {
			continue
		}
		if text := textkit.OneLine(err.Error()); text != said {
			said = text
			m.s.Warn(fmt.Errorf("the subconscious of %s is not running here: %s", who, text))
		}
		select {
		case <-time.After(retryMind):
		case <-ctx.Done():
		}
	}
}

// runUntilChanged runs the subconscious of an owner until its models change. The next models finish an
// interrupted tick.
func (m *minds) runUntilChanged(ctx context.Context, who string) error {
	unlock, err := m.lockOwner(who)
	if err != nil {
		return err
	}
	defer unlock()
	k, back, err := m.acquire(ctx, who)
	if err != nil {
		return err
	}
	defer back()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		defer stop()
		m.waitOutdated(ctx, who, k)
	}()
	return k.Run(ctx)
}

// lockOwner excludes other processes from running the subconscious of an owner, until unlock.
func (m *minds) lockOwner(who string) (unlock func(), err error) {
	if who == LocalOwner {
		return m.s.LockMind()
	}
	file, err := m.s.MindLockFile()
	if err != nil {
		return nil, err
	}
	unlock, other, err := LockFile(strings.TrimSuffix(file, ".lock") + "-" + shortHash(who) + ".lock")
	switch {
	case err != nil:
		return nil, fmt.Errorf("lock the subconscious: %w", err)
	case unlock == nil:
		return nil, fmt.Errorf("another process (%s) already runs it", other)
	}
	return unlock, nil
}

func closeWithTimeout(end func(context.Context) error) error {
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
		kept = &cachedView{View: subconscious.NewView(), made: now}
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
		state = state.DecayTo(now)
	}
	js, err := state.MarshalMind()
	return stream.PublicState(ctx, s.Public, mindrunner.Thread(who), kept.head, js), err
}

func (s *Service) Tick(ctx context.Context, who string) (json.RawMessage, error) {
	k, back, err := s.Minds.acquire(ctx, who)
	if err != nil {
		return nil, err
	}
	defer back()
	var report mindrunner.Report
	thread := ponder.Info{Thread: ponder.Thread{ID: mindrunner.Thread(who), Kind: ponder.KindSubconscious, Owner: who}}
	err = s.continueThread(ctx, thread, func() error {
		report, err = k.Runner.Tick(ctx, false)
		return err
	})
	if err != nil {
		return nil, err
	}
	js, err := json.Marshal(TickReport{report, SensorErrors(k.Status())})
	if err != nil {
		return nil, fmt.Errorf("read the report of a tick: %w", err)
	}
	return js, nil
}

// A SensorStatus is the status of a sensor in this process.
type SensorStatus = mindrunner.SensorStatus

func (s *Service) Sensors(ctx context.Context, who string) ([]SensorStatus, error) {
	k, back, err := s.Minds.acquire(ctx, who)
	if err != nil {
		return nil, err
	}
	defer back()
	list := k.Status()
	for i := range list {
		list[i].Error = lookup.NamePaths(list[i].Error)
	}
	return list, nil
}

func (s *Service) RollBack(ctx context.Context, who string, tick int) (ponder.Event, error) {
	id := mindrunner.Thread(who)
	said, newest, err := subconscious.RollbackBefore(s.Log.Events(ctx, id, 0), tick) // the public events lack paths
	switch {
	case err != nil:
		return ponder.Event{}, fmt.Errorf("roll back to before tick %d: %w", tick, err)
	case said.As == "":
		return ponder.Event{}, Invalidf("tick", "tick %d does not exist; the newest is %d", tick, newest)
	}
	events, err := s.Log.Append(ctx, id, 0, ponder.Event{Body: said})
	if err != nil {
		return ponder.Event{}, fmt.Errorf("send to the subconscious: %w", err)
	}
	return events[0], nil
}

func (s *Service) TestSensors(ctx context.Context, who string) ([]SensorTrial, error) {
	if who != LocalOwner {
		return nil, NotFoundf("", "no sensors are configured for %s: only the local user's subconscious has configured sensors", who)
	}
	return s.forOwner(who).TrySensors(ctx, time.Now())
}

var (
	_ ProtocolService = (*Service)(nil)
	_ MindService     = (*Service)(nil)
)

// LockMind excludes other processes from running the subconscious of this database, until
// unlock.
func (a *App) LockMind() (unlock func(), err error) {
	file, err := a.MindLockFile()
	if err != nil {
		return nil, err
	}
	unlock, other, err := LockFile(file)
	if err != nil {
		return nil, fmt.Errorf("lock the subconscious: %w", err)
	}
	if unlock == nil {
		return nil, Invalidf("", "another process (%s) already runs the subconscious: see its actions with `ponder mind log`", other)
	}
	return unlock, nil
}

func (a *App) MindLockFile() (string, error) {
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
	if err := fileio.MakeStateDir(dir); err != nil {
		return "", err
	}
	return filepath.Join(dir, fmt.Sprintf("mind-%s.lock", shortHash(db))), nil
}

// A TickReport is the result of a tick, with the errors of sensors by name.
type TickReport struct {
	mindrunner.Report
	Trouble map[string]string `json:"trouble,omitempty"`
}

func SensorErrors(list []mindrunner.SensorStatus) map[string]string {
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
