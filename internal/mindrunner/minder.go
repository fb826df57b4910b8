// Package mindrunner makes the subconscious tick, and tells the user what it has come to.
//
// A [Minder] looks at the world with sensors and puts what they saw on the thread of the
// subconscious, starts a tick if there is something for it to do, has what was escalated
// decided, and delivers it. Each of these is a round that may be begun again at any time:
// all that it knows is a fold over the thread, and what must not happen twice has a key
// there, so that a process may be killed anywhere.
//
// # Stored formats
//
// What the minder itself writes are inputs of the thread:
//
//	cause                               sensor                 observation
//	SENSOR:HASH                         SENSOR                 what it saw; the last of a look has its cursor
//	system:sensors:HASH                 system:sensors         a sensor fails ("failing"), or looks again ("ok")
//	lookup:ROLE:HASH:N                  lookup:ROLE            what was looked up for a role, or that nothing was found
//	SENSOR:cursor:HASH                  subconscious:cursor    internal: how far the sensor that is its subject has read
//	ceiling:DAY                         subconscious:ceiling   internal: what may be spent in a day is used up
//	delivery:CHANNEL:N:sending:ID       subconscious:delivery  internal: the Nth attempt to tell of an escalation begins
//	delivery:CHANNEL:N:failed:ID        subconscious:delivery  internal: and fails
//	delivery:CHANNEL:N:sent:ID          delivery               internal: the user was told; its state is the channel
//
// No role reads sensors of the kinds subconscious and delivery, so that nothing of this
// feeds itself.
//
// The run of a decision has an id that is made of the escalation's and the number of the
// attempt. A HASH is of the subject and state that are told, and of the place in the
// thread of the cursor with which the sensor looked: so what is seen once more with the
// same cursor is refused, and what has come back is not.
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

// A Place works on threads, and calls on schedule: see [ponder.Placement]. Wait waits
// until a thread is not at work here, and returns how that ended.
type Place interface {
	Start(ctx context.Context, thread ponder.ThreadID) error
	Wait(ctx context.Context, thread ponder.ThreadID) error
	Schedule(ctx context.Context, name, cron string, tick func(context.Context, time.Time) error) error
}

// A Config says what a minder is made of. Store and Place are required.
type Config struct {
	Store   ponder.Store
	Place   Place
	Sensors []sensor.Sensor      // no two of a name
	Owner   string               // of the thread; "local" if empty
	Options subconscious.Options // those that the mind's modes were made with
	Every   time.Duration        // between ticks; DefaultEvery if zero
	Night   Hours                // ticks come at a sixth of the pace
	Quiet   Hours                // nobody is told anything but what is urgent

	// TokensPerDay and MoneyPerDay are the most that a day may cost, by the clock of the
	// machine. Zero is no limit. Below zero: no model is asked at all, or only such as
	// cost nothing.
	TokensPerDay int
	MoneyPerDay  ponder.Money

	// Elsewhere, if set, returns what is spent of a day, or may be, on other threads: by
	// what decisions have begun.
	Elsewhere func(now time.Time) ponder.Cost

	// LookUp, if set, looks up what a role wants, in a few words: it returns what was
	// found, the best first, of which at most five are kept, with their Content, Source and
	// Untrusted. It must return soon after ctx is done. It is called for each want once,
	// unless the process is killed meanwhile; an error is an answer, and is shown to
	// models, so it has nothing that strangers wrote. It may be called several times at
	// once.
	LookUp func(ctx context.Context, owner, role, text string) ([]ponder.Observation, error)

	Channels []notify.Channel // no two of a name
	Logger   *slog.Logger     // slog.Default() if nil
	Now      func() time.Time // time.Now if nil
}

// Numbers of the minder.
const (
	DefaultEvery = 5 * time.Minute
	TickTime     = 120 * time.Second // that a tick may take
	NightPace    = 6                 // times as long between ticks at night
	Urgent       = 9                 // importance that is told in quiet hours too, unless strangers wrote of it

	workTime    = 10 * time.Minute // that a run is waited for
	appendTime  = 10 * time.Second // for what must be kept although the process is to end
	maxStale    = 20               // times that a tick is begun anew because the thread grew
	defaultName = "local"
)

// A Minder keeps a subconscious going. It is safe for concurrent use.
type Minder struct {
	Config
	thread ponder.ThreadID

	mu     sync.Mutex // held during a round
	view   subconscious.View
	course course
	looked time.Time  // when the last tick was considered
	made   bool       // the thread is there
	kept   ponder.Seq // up to where it is kept what is known

	watch watchers
}

// New returns a minder. It neither looks nor writes before it is told to.
func New(c Config) (*Minder, error) {
	if c.Store == nil || c.Place == nil {
		return nil, errors.New("minder: config needs Store and Place")
	}
	c.Owner, c.Every, c.Logger = cmp.Or(c.Owner, defaultName), cmp.Or(c.Every, DefaultEvery), cmp.Or(c.Logger, slog.Default())
	if c.Every < time.Second {
		return nil, fmt.Errorf("minder: %s between ticks is too short: at least 1s", c.Every)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	m := &Minder{Config: c, thread: Thread(c.Owner), view: subconscious.NewView(c.Options.Roles...), course: newCourse()}
	names := map[string]bool{}
	for _, s := range c.Sensors {
		if s.Name == "" || s.Look == nil || len(s.Name) > maxName || names[s.Name] || reserved(s.Name) {
			return nil, fmt.Errorf("minder: sensor %q needs a name of its own, of at most %d bytes, and something to do", s.Name, maxName)
		}
		names[s.Name] = true
	}
	for _, ch := range c.Channels {
		if ch.Name == "" || ch.Send == nil || len(ch.Name) > maxName || strings.Contains(ch.Name, ":") || names["> "+ch.Name] {
			return nil, fmt.Errorf("minder: channel %q needs a name of its own without ':', of at most %d bytes, and something to do", ch.Name, maxName)
		}
		names["> "+ch.Name] = true
	}
	m.watch.init(c.Sensors)
	return m, nil
}

// maxName is how long the name of a sensor or a channel may be, in bytes.
const maxName = 64

// Sensors of what the minder itself says.
const (
	sensorsName = "system:sensors"
	cursorName  = subconscious.Name + ":cursor"
	ceilingName = subconscious.Name + ":ceiling"
	attemptName = subconscious.Name + ":delivery"
)

// Beginnings of causes.
const (
	ceilingCause  = "ceiling"
	deliveryCause = "delivery"
)

// reserved reports whether no sensor may have a name.
func reserved(name string) bool {
	kind, _, _ := strings.Cut(name, ":")
	return name == sensorsName || kind == subconscious.Name || kind == subconscious.Delivery || kind == subconscious.LookUpKind
}

// Thread returns the thread of an owner's subconscious.
func Thread(owner string) ponder.ThreadID {
	return subconscious.ThreadOf(owner)
}

// crockford is the alphabet of ids.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// named returns what stands behind the prefix of an id, made of a text: 128 bits of its
// SHA-256, as a ULID is written.
func named(text string) string {
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

// short returns a short name for some parts of a text.
func short(parts ...any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return hex.EncodeToString(sum[:8])
}

// make makes the thread if there is none. The caller holds m.mu.
func (m *Minder) make(ctx context.Context) error {
	if m.made {
		return nil
	}
	header := ponder.Thread{ID: m.thread, Kind: ponder.KindSubconscious, Title: "Subconscious", Owner: m.Owner, Created: m.Now()}
	err := m.Store.Create(ctx, header)
	if err != nil && !errors.Is(err, ponder.ErrTaken) {
		return fmt.Errorf("make the thread of the subconscious: %w", err)
	}
	m.made = true
	return nil
}

// read folds what is new on the thread. The caller holds m.mu.
func (m *Minder) read(ctx context.Context) error {
	if err := m.make(ctx); err != nil {
		return err
	}
	m.load(ctx)
	for ev, err := range m.Store.Events(ctx, m.thread, m.course.head) {
		if err != nil {
			if errors.Is(err, ponder.ErrNoThread) {
				m.forget()
			}
			return fmt.Errorf("read the subconscious: %w", err)
		}
		m.view = m.view.Apply(ev)
		m.course.apply(ev)
	}
	m.save(ctx)
	return nil
}

// forget begins anew: the thread was removed.
func (m *Minder) forget() {
	m.view, m.course, m.kept, m.made = subconscious.NewView(m.Options.Roles...), newCourse(), 0, false
}

// note appends an observation of the minder's own, and returns false if it is there
// already. It is kept even if ctx is done, for it says what has happened.
func (m *Minder) note(ctx context.Context, cause string, o ponder.Observation, internal bool) (bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), appendTime)
	defer cancel()
	_, err := m.Store.Append(ctx, m.thread, 0, ponder.Event{Cause: cause, Internal: internal, Time: m.Now(), Body: o})
	switch {
	case errors.Is(err, ponder.ErrTaken):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("note %s: %w", cause, err)
	}
	return true, nil
}

// View returns what is known of the subconscious now. It reads the whole thread, and does
// not wait for a tick that is at work.
func (m *Minder) View(ctx context.Context) (subconscious.View, error) {
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

// Close closes the sensors. Nothing may be called after it.
func (m *Minder) Close() error {
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
