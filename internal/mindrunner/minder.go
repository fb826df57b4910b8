// Package mindrunner runs the subconscious and delivers its messages to the user.
//
// A [Runner] looks with sensors and appends their observations to the thread of the
// subconscious. It starts a tick if there is work, decides escalations, and delivers
// messages. A process may die at any point. The state is a fold over the thread, and each
// action that must not happen twice has a key there.
//
// # Stored formats
//
// The runner appends these inputs to the thread:
//
//	cause                               sensor                 observation
//	SENSOR:HASH                         SENSOR                 of the sensor; the last one of a look has the cursor
//	system:sensors:HASH                 system:sensors         the sensor fails ("failing") or has recovered ("ok")
//	lookup:ROLE:HASH:N                  lookup:ROLE            a result of a look-up for a role, or that there is none
//	SENSOR:cursor:HASH                  subconscious:cursor    internal: the cursor of the sensor that is the subject
//	ceiling:DAY                         subconscious:ceiling   internal: the day has reached its ceiling
//	delivery:CHANNEL:N:sending:ID       subconscious:delivery  internal: attempt N to send an escalation starts
//	delivery:CHANNEL:N:failed:ID        subconscious:delivery  internal: attempt N failed
//	delivery:CHANNEL:N:sent:ID          delivery               internal: the message was sent; its state is the channel
//
// No role reads sensors of the kinds subconscious and delivery, so that these events
// trigger no tick.
//
// The id of a decision's run is a hash of the escalation and the number of the attempt.
// HASH is a hash of the subject, the state and the place of the cursor with which the
// sensor looked. The store therefore refuses a second observation with the same cursor, but
// not a state that has returned.
package mindrunner

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"ponder"
	"ponder/mode/subconscious"
	"ponder/sensor"
	"ponder/sensor/notify"
)

// A Placement works on threads, and calls functions on schedule: see [ponder.Placement]. Wait
// blocks until this process does not work on the thread, and returns the error of that
// work.
type Placement interface {
	Start(ctx context.Context, thread ponder.ThreadID) error
	Wait(ctx context.Context, thread ponder.ThreadID) error
	Schedule(ctx context.Context, name, cron string, tick func(context.Context, time.Time) error) error
}

// A Config configures a runner. Store and Placement are required.
type Config struct {
	Store     ponder.Store
	Placement Placement
	Sensors   []sensor.Sensor      // with unique names
	Owner     string               // of the thread; "local" if empty
	Options   subconscious.Options // the options of the mind's modes
	Every     time.Duration        // between ticks; DefaultEvery if zero
	Night     Hours                // ticks are NightPace times rarer
	Quiet     Hours                // the user gets urgent messages only

	// TokensPerDay and MoneyPerDay limit the cost of a local day. Zero is no limit. Below
	// zero, TokensPerDay prohibits all models, and MoneyPerDay all models that are not
	// free.
	TokensPerDay int
	MoneyPerDay  ponder.Money

	// ExternalCost, if set, returns the cost of other threads on a day, including reserved
	// cost. The rest of the day's budget depends on it and on the thread.
	ExternalCost func(now time.Time) ponder.Cost

	// LookUp, if set, looks up a want of a role: a short query. It returns results with
	// Content, Source and Untrusted, the best first; the runner stores at most five. It
	// must return soon after ctx is done. The runner calls it once for each want, unless
	// the process dies meanwhile, and concurrently for several wants. An error is stored as
	// the answer and shown to models, so it must not contain text of strangers.
	LookUp func(ctx context.Context, owner, role, text string) ([]ponder.Observation, error)

	Channels []notify.Channel // with unique names
	Logger   *slog.Logger     // slog.Default() if nil
	Now      func() time.Time // time.Now if nil
}

const (
	DefaultEvery = 5 * time.Minute
	TickTime     = 120 * time.Second // time limit of a tick
	NightPace    = 6                 // factor for the time between ticks at night
	Urgent       = 9                 // importance of escalations that ignore quiet hours, unless they are untrusted

	workTime    = 10 * time.Minute // time limit of a run
	appendTime  = 10 * time.Second // time limit for an append that must survive the end of ctx
	maxStale    = 20               // restarts of a tick because the thread grew
	defaultName = "local"
)

// A Runner runs a subconscious. It is safe for concurrent use.
type Runner struct {
	Config
	thread ponder.ThreadID

	mu       sync.Mutex // held during a round
	view     subconscious.View
	fold     fold
	lastTick time.Time  // the time of the last tick or of the decision against one
	created  bool       // the thread exists
	saved    ponder.Seq // the event of the checkpoint

	states sensorStates
}

// New returns a runner. It starts nothing.
func New(c Config) (*Runner, error) {
	if c.Store == nil || c.Placement == nil {
		return nil, errors.New("mindrunner: config needs Store and Placement")
	}
	c.Owner, c.Every, c.Logger = cmp.Or(c.Owner, defaultName), cmp.Or(c.Every, DefaultEvery), cmp.Or(c.Logger, slog.Default())
	if c.Every < time.Second {
		return nil, fmt.Errorf("mindrunner: tick interval %s is too short; use at least 1s", c.Every)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	m := &Runner{Config: c, thread: Thread(c.Owner), view: subconscious.NewView(c.Options.Roles...), fold: newFold()}
	names := map[string]bool{}
	for _, s := range c.Sensors {
		if s.Name == "" || s.Look == nil || len(s.Name) > maxName || names[s.Name] || isReservedName(s.Name) {
			return nil, fmt.Errorf("mindrunner: sensor %q needs a unique name of at most %d bytes and a Look function", s.Name, maxName)
		}
		names[s.Name] = true
	}
	for _, ch := range c.Channels {
		if ch.Name == "" || ch.Send == nil || len(ch.Name) > maxName || strings.Contains(ch.Name, ":") || names["> "+ch.Name] {
			return nil, fmt.Errorf("mindrunner: channel %q needs a unique name without ':', of at most %d bytes, and a Send function", ch.Name, maxName)
		}
		names["> "+ch.Name] = true
	}
	m.states.init(c.Sensors)
	return m, nil
}

// maxName limits the name of a sensor or a channel, in bytes.
const maxName = 64

// Sensors of the runner's own observations.
const (
	sensorsName = "system:sensors"
	cursorName  = subconscious.Name + ":cursor"
	ceilingName = subconscious.Name + ":ceiling"
	attemptName = subconscious.Name + ":delivery"
)

const (
	ceilingCause  = "ceiling"
	deliveryCause = "delivery"
)

// isReservedName reports whether sensors may not have a name.
func isReservedName(name string) bool {
	kind, _, _ := strings.Cut(name, ":")
	return name == sensorsName || kind == subconscious.Name || kind == subconscious.Delivery || kind == subconscious.LookUpKind
}

// Thread returns the thread of an owner's subconscious.
func Thread(owner string) ponder.ThreadID {
	return subconscious.ThreadOf(owner)
}

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// hashID returns the part of an id after the prefix: 128 bits of the SHA-256 of a text, in
// the form of a ULID.
func hashID(text string) string {
	sum := sha256.Sum256([]byte(text))
	hi, lo := binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16])
	b := make([]byte, 0, 26)
	for shift := 125; shift >= 0; shift -= 5 { // 130 bits, the first two of them zero
		v := lo >> shift
		if shift >= 64 {
			v = hi >> (shift - 64)
		} else if shift > 59 {
			v |= hi << (64 - shift)
		}
		b = append(b, crockford[v&31])
	}
	return string(b)
}

// hashOf returns a hash of parts, as 16 hex digits.
func hashOf(parts ...any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return hex.EncodeToString(sum[:8])
}

// createThread creates the thread if it does not exist. The caller holds m.mu.
func (m *Runner) createThread(ctx context.Context) error {
	if m.created {
		return nil
	}
	header := ponder.Thread{ID: m.thread, Kind: ponder.KindSubconscious, Title: "Subconscious", Owner: m.Owner, Created: m.Now()}
	err := m.Store.Create(ctx, header)
	if err != nil && !errors.Is(err, ponder.ErrTaken) {
		return fmt.Errorf("create the thread of the subconscious: %w", err)
	}
	m.created = true
	return nil
}

// readThread folds the new events of the thread. The caller holds m.mu.
func (m *Runner) readThread(ctx context.Context) error {
	if err := m.createThread(ctx); err != nil {
		return err
	}
	m.loadCheckpoint(ctx)
	for ev, err := range m.Store.Events(ctx, m.thread, m.fold.head) {
		if err != nil {
			if errors.Is(err, ponder.ErrNoThread) {
				m.resetState()
			}
			return fmt.Errorf("read the subconscious: %w", err)
		}
		m.view = m.view.Apply(ev)
		m.fold.applyEvent(ev)
	}
	m.saveCheckpoint(ctx)
	return nil
}

// resetState resets the runner after the thread was removed.
func (m *Runner) resetState() {
	m.view, m.fold, m.saved, m.created = subconscious.NewView(m.Options.Roles...), newFold(), 0, false
}

// appendNote appends an observation of the runner, and returns false if the thread has it
// already. It ignores the end of ctx, because the observation reports a fact.
func (m *Runner) appendNote(ctx context.Context, cause string, o ponder.Observation, internal bool) (bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), appendTime)
	defer cancel()
	_, err := m.Store.Append(ctx, m.thread, 0, ponder.Event{Cause: cause, Internal: internal, Time: m.Now(), Body: o})
	switch {
	case errors.Is(err, ponder.ErrTaken):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("append note %s: %w", cause, err)
	}
	return true, nil
}

// View returns the current view of the subconscious. It reads the whole thread, and does
// not wait for a running tick.
func (m *Runner) View(ctx context.Context) (subconscious.View, error) {
	view := subconscious.NewView(m.Options.Roles...)
	for ev, err := range m.Store.Events(ctx, m.thread, 0) {
		if errors.Is(err, ponder.ErrNoThread) {
			break
		}
		if err != nil {
			return view, fmt.Errorf("read the subconscious: %w", err)
		}
		view = view.Apply(ev)
	}
	return view, nil
}

// Close closes the sensors. Callers must not use the runner after it.
func (m *Runner) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for _, s := range m.Sensors {
		if s.Close != nil {
			errs = append(errs, s.Close())
		}
	}
	return errors.Join(errs...)
}
