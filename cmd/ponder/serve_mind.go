package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"ponder"
	"ponder/internal/httpapi"
	"ponder/internal/minder"
	"ponder/internal/place"
	"ponder/mode/subconscious"
	"ponder/recall"
	"ponder/sensor"
	"ponder/sensor/own"
	"ponder/tool/memory"
)

// Minds are the subconscious of the owners. That of the user sees what is configured,
// those of others only their own threads and memories. They are safe for concurrent use.
type minds struct {
	s     *server
	ticks *place.Placement // that calls on schedule

	mu   sync.Mutex
	list map[string]*keptMind

	reading sync.Mutex
	logs    map[string]*keptLog
}

// A keptMind is a subconscious, ready to tick.
type keptMind struct {
	*minder.Minder
	mind *ponder.Mind
	ends []func() error
}

// A keptLog is what is known of the thread of a subconscious.
type keptLog struct {
	*mindLog
	made time.Time
}

// of returns the subconscious of an owner.
func (m *minds) of(ctx context.Context, who string) (*keptMind, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := m.list[who]; k != nil {
		return k, nil
	}
	k := &keptMind{}
	if err := m.furnish(context.WithoutCancel(ctx), who, k); err != nil {
		k.close()
		return nil, err
	}
	m.list[who] = k
	return k, nil
}

// furnish makes a subconscious of what it wants.
func (m *minds) furnish(ctx context.Context, who string, k *keptMind) error {
	a := m.s.as(who)
	cast, err := a.mindCastOf(ctx)
	if err != nil {
		return err
	}
	options := a.mindOptions(cast)
	keep := a.keeper(m.s.store)
	k.ends = append(k.ends, func() error { keep.close(); return nil })
	k.mind, err = m.s.mind.With(ponder.Config{
		Modes: subconscious.New(options), Models: cast.models, Tools: memory.New(memory.Options{Keep: keep.keep, Source: mindSource}),
	})
	if err != nil {
		return err
	}
	c := minder.Config{Store: m.s.log, Place: mindPlace{m.s.place, m.ticks}, Owner: who, Options: options, LookUp: a.mindLookUp(m.s.store, cast.roles).lookUp}
	if who == owner {
		look, err := a.mindSensors(ctx, m.s.store)
		if err != nil {
			return err
		}
		k.ends = append(k.ends, look.close)
		if c.Channels, err = a.mindChannels(); err != nil {
			return err
		}
		c.Sensors = look.sensors
	} else {
		c.Sensors = []sensor.Sensor{m.ownSensor(who)}
	}
	k.Minder, err = minder.New(mindConfig(m.s.cfg, c))
	return err
}

// ownSensor returns the sensor of the threads and memories of an owner.
func (m *minds) ownSensor(who string) sensor.Sensor {
	one := own.New(own.Options{Store: m.s.store, Owner: who, Memories: func(ctx context.Context) ([]own.Memory, error) {
		lib, err := m.s.shelves.lender(who)(ctx)
		if err != nil {
			return nil, err
		}
		defer lib.done()
		return ownMemories(ctx, lib.Library)
	}})
	one.Name = "own"
	return one
}

// ownMemories returns what was remembered last.
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

// work works on the thread of a subconscious.
func (m *minds) work(ctx context.Context, info ponder.Info) error {
	if info.ID != minder.Thread(info.Owner) {
		return fmt.Errorf("%s is not taken: it is the subconscious of nobody here", info.ID)
	}
	k, err := m.of(ctx, info.Owner)
	if err != nil {
		return fmt.Errorf("%s is not taken: %w", info.ID, err)
	}
	return k.mind.Work(ctx, info.ID)
}

// retryMind is how long it takes to look again whether another process still keeps the
// subconscious.
const retryMind = time.Minute

// keep keeps the subconscious of the user going until ctx is done, unless another process
// does.
func (m *minds) keep(ctx context.Context) {
	said := ""
	for ctx.Err() == nil {
		err := m.run(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		if text := oneLine(err.Error()); text != said {
			said = text
			m.s.say("the subconscious does not tick here: %s", text)
		}
		select {
		case <-time.After(retryMind):
		case <-ctx.Done():
		}
	}
}

func (m *minds) run(ctx context.Context) error {
	unlock, err := m.s.onlyMind()
	if err != nil {
		return err
	}
	defer unlock()
	k, err := m.of(ctx, owner)
	if err != nil {
		return err
	}
	return k.Run(ctx)
}

// close closes all. None may be at work.
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

// Thread implements [httpapi.Minder].
func (s *server) Thread(who string) ponder.ThreadID { return minder.Thread(who) }

// logLife is how long a log is added to before it is read anew, since contents may have
// been erased.
const logLife = 10 * time.Second

// Mind implements [httpapi.Minder].
func (s *server) Mind(ctx context.Context, who string) (json.RawMessage, error) {
	m := s.minds
	m.reading.Lock()
	defer m.reading.Unlock()
	now := time.Now()
	kept := m.logs[who]
	if kept == nil || now.Sub(kept.made) > logLife {
		kept = &keptLog{newMindLog(), now}
		m.logs[who] = kept
	}
	for ev, err := range s.store.Events(ctx, minder.Thread(who), kept.head) {
		if errors.Is(err, ponder.ErrNoThread) {
			break
		}
		if err != nil {
			delete(m.logs, who)
			return nil, fmt.Errorf("read the subconscious: %w", err)
		}
		kept.apply(ev)
	}
	state := kept.State
	if kept.head > 0 {
		state = state.At(now)
	}
	text, err := state.MarshalMind()
	return text, err
}

// Tick implements [httpapi.Minder].
func (s *server) Tick(ctx context.Context, who string) (json.RawMessage, error) {
	k, err := s.minds.of(ctx, who)
	if err != nil {
		return nil, toCaller(err, false)
	}
	var report minder.Report
	thread := ponder.Info{Thread: ponder.Thread{ID: minder.Thread(who), Kind: ponder.KindSubconscious, Owner: who}}
	err = s.goesOn(ctx, thread, func() error {
		report, err = k.Minder.Tick(ctx, false)
		return err
	})
	if err != nil {
		return nil, err
	}
	js, err := json.Marshal(report)
	if err != nil {
		return nil, fmt.Errorf("report a tick: %w", err)
	}
	return js, nil
}

var _ httpapi.Service = (*server)(nil)
