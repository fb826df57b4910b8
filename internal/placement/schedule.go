package placement

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/robfig/cron/v3" // the parser that DBOS uses, so that expressions agree
)

// A schedule calls tick at the times of a cron expression.
type schedule struct {
	name  string
	cron  string // with seconds
	times cron.Schedule
	since time.Time // earlier times are missed
	tick  func(context.Context, time.Time) error
}

// newSchedule parses a cron expression of five fields, or six with seconds first.
func newSchedule(name, expr string, tick func(context.Context, time.Time) error) (*schedule, error) {
	if name == "" || tick == nil {
		return nil, errors.New("a schedule needs a name and a function")
	}
	fields := strings.Fields(expr)
	switch len(fields) {
	case 5:
		fields = append([]string{"0"}, fields...)
	case 6:
	default:
		return nil, fmt.Errorf("cron expression %q has %d fields; want 5 or 6", expr, len(fields))
	}
	s := &schedule{name: name, cron: strings.Join(fields, " "), since: time.Now(), tick: tick}
	var err error
	s.times, err = cron.NewParser(cron.Second | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(s.cron)
	if err != nil {
		return nil, fmt.Errorf("parse cron expression %q: %w", expr, err)
	}
	if s.times.Next(s.since).IsZero() {
		return nil, fmt.Errorf("cron expression %q matches no time", expr)
	}
	return s, nil
}

// tickGrace is the age up to which a tick runs even if the next is due.
const tickGrace = 5 * time.Second

// isMissed reports whether a tick is too old to run.
func (s *schedule) isMissed(at, now time.Time) bool {
	return at.Before(s.since) || now.Sub(at) > tickGrace && !s.times.Next(at).After(now)
}

// Schedule implements [ponder.Placement]. The process must serve. Failed ticks are logged. Ticks
// of one schedule never overlap, in any process.
func (p *Placement) Schedule(ctx context.Context, name, cron string, tick func(context.Context, time.Time) error) error {
	s, err := newSchedule(name, cron, tick)
	switch {
	case err != nil:
	case p.keeper == nil:
		if !p.spawnWorker(func() { p.runSchedule(s) }) {
			err = errClosed
		}
	case !p.Serve:
		err = errors.New("this process does not serve")
	default:
		err = p.keeper.addSchedule(ctx, s)
	}
	if err != nil {
		return fmt.Errorf("schedule %s: %w", name, err)
	}
	return nil
}

// spawnWorker runs f in a goroutine that Close awaits. It returns false if the placement is closed.
func (p *Placement) spawnWorker(f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.workers.Go(f)
	}
	return !p.closed
}

// runSchedule runs a schedule in memory.
func (p *Placement) runSchedule(s *schedule) {
	for {
		next := s.times.Next(time.Now())
		if next.IsZero() || !sleepContext(p.ctx, time.Until(next)) {
			return
		}
		p.runTick(s, next)
	}
}

func (p *Placement) runTick(s *schedule, at time.Time) {
	if err := s.tick(p.ctx, at); err != nil && p.ctx.Err() == nil {
		p.Logger.Warn("scheduled work failed", "schedule", s.name, "due", at, "error", err)
	}
}

type scheduleSet struct {
	mu  sync.Mutex
	all map[string]*schedule
}

// tickPrefix starts the name of each schedule's queue. One queue per schedule keeps ticks from
// processes that do not know the schedule.
const tickPrefix = "tick "

func (t *scheduleSet) queueNames() (names []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(t.all)) {
		names = append(names, tickPrefix+name)
	}
	return names
}

func (t *scheduleSet) add(s *schedule) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all[s.name] != nil {
		return errors.New("a schedule with this name exists")
	}
	t.all[s.name] = s
	return nil
}

func (t *scheduleSet) get(name string) *schedule {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all[name]
}

// Polling intervals of DBOS for changed schedules and for ticks.
const (
	schedulesEvery = time.Second
	ticksEvery     = 250 * time.Millisecond
)

func (k *keeper) addSchedule(ctx context.Context, s *schedule) error {
	d, err := k.awaitDBOS(ctx)
	if err != nil {
		return err
	}
	if err := k.schedules.add(s); err != nil {
		return err
	}
	_, err = dbos.RegisterQueue(d, tickPrefix+s.name, dbos.WithGlobalConcurrency(1),
		dbos.WithQueueBasePollingInterval(ticksEvery), dbos.WithQueueOnConflict(dbos.QueueConflictAlwaysUpdate))
	if err != nil {
		return err
	}
	dbos.ListenQueues(d, k.queueNames()...)
	return dbos.ApplySchedules(d, []dbos.ScheduleSpec{
		{ScheduleName: s.name, WorkflowName: tickName, Schedule: s.cron, QueueName: tickPrefix + s.name, Context: s.name},
	})
}

// tickWorkflow is the workflow of a tick. Its row marks the tick as done for other processes until
// cleanupTicks.
func (k *keeper) tickWorkflow(_ dbos.Context, in dbos.ScheduledWorkflowInput) (any, error) {
	name, err := dbos.DecodeScheduleContext[string](in)
	if err != nil {
		return nil, err
	}
	s := k.schedules.get(name)
	if s == nil || s.isMissed(in.ScheduledTime, time.Now()) {
		return nil, nil
	}
	done := make(chan struct{})
	begun := k.place.spawnWorker(func() {
		defer close(done)
		k.place.runTick(s, in.ScheduledTime)
	})
	if begun {
		<-done
	}
	return nil, nil
}

// Retention of tick rows. It must exceed the clock difference between processes.
const (
	tickRetention = time.Minute
	tickMaxAge    = time.Hour // of ticks that no process takes
)

// cleanupTicks erases rows of old ticks and of ticks that no process takes.
func (k *keeper) cleanupTicks() {
	if k.failed != nil {
		return
	}
	lists := [...][]dbos.ListWorkflowsOption{
		{dbos.WithFilterCompletedBefore(time.Now().Add(-tickRetention))},
		{dbos.WithFilterCreatedBefore(time.Now().Add(-tickMaxAge)), dbos.WithFilterStatus(dbos.WorkflowStatusEnqueued)},
	}
	for _, filter := range lists {
		filter = append(filter, dbos.WithFilterName(tickName), dbos.WithFilterApplicationName(serveApp),
			dbos.WithFilterLoadInput(false), dbos.WithFilterLoadOutput(false))
		list, err := dbos.ListWorkflows(k.dbos, filter...)
		if err == nil && len(list) > 0 {
			ids := make([]string, len(list))
			for i, w := range list {
				ids[i] = w.ID
			}
			err = dbos.DeleteWorkflows(k.dbos, ids)
		}
		if err != nil {
			k.place.Logger.Warn("cannot erase rows of completed scheduled work", "error", err)
			return
		}
	}
}
