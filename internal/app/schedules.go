package app

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/auth"
	"ponder/internal/notice"
	"ponder/internal/schedule"
	"ponder/internal/textkit"
	"ponder/store/sqlite"
)

// scheduleKind is the kind of the records of scheduled research.
const scheduleKind = "schedule"

const maxSchedules = 100 // of an owner

// AddSchedule stores a schedule under a new id. Its first run is due at once.
func (a *App) AddSchedule(ctx context.Context, store *sqlite.Store, s schedule.Schedule) (schedule.Schedule, error) {
	list, err := a.Schedules(ctx, store)
	if err != nil {
		return s, err
	}
	if len(list) >= maxSchedules {
		return s, Invalidf("", "the limit of %d schedules is reached: remove one", maxSchedules)
	}
	if s.Question, err = CheckQuestion(s.Question); err != nil {
		return s, err
	}
	s.ID, s.Created = ponder.NewID("sch"), time.Now().UTC().Truncate(time.Second)
	s.Next = s.Created
	js, err := json.Marshal(s)
	if err != nil {
		return s, fmt.Errorf("store a schedule: %w", err)
	}
	db, err := openServerDB(ctx, store.SQL())
	if err != nil {
		return s, err
	}
	return s, db.Put(ctx, scheduleKind, a.Owner(), s.ID, js)
}

// Schedules returns the schedules of the owner, the oldest first.
func (a *App) Schedules(ctx context.Context, store *sqlite.Store) (list []schedule.Schedule, err error) {
	db, err := openServerDB(ctx, store.SQL())
	if err != nil {
		return nil, err
	}
	records, err := db.Records(ctx, scheduleKind, a.Owner())
	for _, r := range records {
		var s schedule.Schedule
		if json.Unmarshal(r.JSON, &s) == nil {
			list = append(list, s)
		}
	}
	return list, err
}

// RemoveSchedule removes the schedule of an id or a unique prefix of one. Its research stays.
func (a *App) RemoveSchedule(ctx context.Context, store *sqlite.Store, name string) (s schedule.Schedule, err error) {
	list, err := a.Schedules(ctx, store)
	if err != nil {
		return s, err
	}
	letters := strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(name)), "SCH_")
	found := slices.DeleteFunc(list, func(s schedule.Schedule) bool { return letters == "" || !strings.HasPrefix(s.ID, "sch_"+letters) })
	switch len(found) {
	case 0:
		return s, NotFoundf("schedule_id", "no such schedule: %s", textkit.Truncate(textkit.OneLine(name), 40))
	case 1:
	default:
		return s, Invalidf("schedule_id", "ambiguous ID prefix %s: add more characters", textkit.Truncate(textkit.OneLine(name), 40))
	}
	db, err := openServerDB(ctx, store.SQL())
	if err != nil {
		return s, err
	}
	return found[0], db.Drop(ctx, scheduleKind, a.Owner(), found[0].ID)
}

// A ScheduleStart starts work on a thread of an owner.
type ScheduleStart func(ctx context.Context, owner *App, s schedule.Schedule, p *PreparedStart) (ponder.ThreadID, error)

const timerInterval = 20 * time.Second

// RunTimers starts due scheduled research and sends due notices until ctx is done. Several processes
// may do so: each run and each notice has one sender. wake, if not nil, ends a wait early.
func (a *App) RunTimers(ctx context.Context, store *sqlite.Store, wake <-chan struct{}, start ScheduleStart) {
	tick := time.NewTicker(timerInterval)
	defer tick.Stop()
	for {
		if err := a.StartDue(ctx, store, time.Now(), start); err != nil && ctx.Err() == nil {
			slog.Warn("cannot start scheduled research", "error", err)
		}
		a.SendNotices(ctx, store, "")
		select {
		case <-tick.C:
		case <-wake:
		case <-ctx.Done():
			return
		}
	}
}

// StartDue starts the scheduled research of all owners that is due at now. Missed runs count as one.
func (a *App) StartDue(ctx context.Context, store *sqlite.Store, now time.Time, start ScheduleStart) error {
	return forEachRecord(ctx, store, scheduleKind, func(db *serverDB, r Record) error {
		var s schedule.Schedule
		if json.Unmarshal(r.JSON, &s) != nil || !s.IsDue(now) {
			return nil //nolint:nilerr // a later version wrote it
		}
		return a.As(r.Owner).startScheduled(ctx, store, db, r, s.Advance(now), start)
	})
}

// startScheduled claims a due run and starts it, unless the last one is still at work.
func (a *App) startScheduled(ctx context.Context, store *sqlite.Store, db *serverDB, r Record, s schedule.Schedule, start ScheduleStart) error {
	busy := false
	s.Base, busy = a.answeredRun(ctx, store, s)
	if mine, err := db.replaceRecord(ctx, scheduleKind, r, s); err != nil || !mine || busy {
		return err
	}
	id, err := a.startRun(ctx, store, s, start)
	s = s.Started(id, err)
	if err != nil {
		slog.Warn("cannot start scheduled research", "schedule", s.ID, "error", err)
	}
	claimed, err := json.Marshal(s)
	if err != nil {
		return err
	}
	records, err := db.Records(ctx, scheduleKind, r.Owner)
	if err != nil || !slices.ContainsFunc(records, func(o Record) bool { return o.ID == r.ID }) { // removed meanwhile
		return err
	}
	return db.Put(ctx, scheduleKind, r.Owner, r.ID, claimed)
}

// answeredRun returns the newest run with an answer, and whether the last run is at work.
func (a *App) answeredRun(ctx context.Context, store *sqlite.Store, s schedule.Schedule) (base ponder.ThreadID, busy bool) {
	for _, id := range []ponder.ThreadID{s.Last, s.Base} {
		if id == "" {
			continue
		}
		info, err := store.Thread(ctx, id)
		switch {
		case err != nil: // removed
		case !info.Status.Ended():
			busy = busy || info.Status == ponder.Thinking && info.Held
		default:
			if l, err := ReadResearch(ctx, store, id); err == nil && l.View.Research.Answer != "" {
				return id, busy
			}
		}
	}
	return "", busy
}

func (a *App) startRun(ctx context.Context, store *sqlite.Store, s schedule.Schedule, start ScheduleStart) (ponder.ThreadID, error) {
	memory, web, _, err := a.DefaultSources(ctx, s.NoMemory, s.NoWeb)
	if err != nil {
		return "", err
	}
	docs, err := a.CheckDocs(ctx, "docs", s.Docs)
	if err != nil {
		return "", err
	}
	id := ponder.ThreadID(ponder.NewID("thr"))
	p, err := a.PrepareStart(ctx, StartRequest{
		Start: Start{Kind: ponder.KindResearch, Question: s.Question, Title: s.Title, Model: s.Model, Persona: s.Persona, Rounds: s.Rounds, Budget: s.Budget, Since: string(s.Base)},
		ID:    id, Docs: docs, Memory: memory, Web: web, Unattended: true, Patience: OncePatience,
	})
	if err != nil {
		return "", err
	}
	if id, err = start(ctx, a, s, p); err != nil {
		return "", err
	}
	return id, a.RequestNotice(ctx, store, id, notice.Request{Channels: s.Notify, Answer: s.Answer, Changes: !s.Always, Terminal: s.Tty})
}

// StartHere returns a starter that creates the thread and hands it to a server or a background process.
func StartHere(store *sqlite.Store) ScheduleStart {
	return func(ctx context.Context, a *App, _ schedule.Schedule, p *PreparedStart) (ponder.ThreadID, error) {
		id, err := p.Start(ctx, store, store)
		if err != nil {
			return "", err
		}
		return id, a.Options.HandOff(ctx, store, id)
	}
}

// RunTimers starts due scheduled research in this server, and sends due notices.
func (s *Service) RunTimers(ctx context.Context) {
	s.App.RunTimers(ctx, s.Store, s.ended, func(ctx context.Context, a *App, sch schedule.Schedule, p *PreparedStart) (ponder.ThreadID, error) {
		ctx = auth.WithCaller(ctx, auth.Caller{Owner: a.Owner(), Token: sch.Token})
		err := s.startWithQuota(ctx, p.Thread.ID, &p.Budget, func() error {
			if _, err := p.Start(ctx, s.Log, s.Store); err != nil {
				return err
			}
			return s.place.Start(ctx, p.Thread.ID)
		})
		return p.Thread.ID, err
	})
}

// A Scheduler schedules research. A [Thinker] may implement it.
type Scheduler interface {
	AddScheduled(ctx context.Context, owner string, s schedule.Schedule) (schedule.Schedule, error)
	ListScheduled(ctx context.Context, owner string) ([]schedule.Schedule, error)
	RemoveScheduled(ctx context.Context, owner, id string) error
}

// AddScheduled implements [Scheduler]. The token of the caller pays for the runs. Only the local user
// has channels for notices.
func (s *Service) AddScheduled(ctx context.Context, owner string, sch schedule.Schedule) (schedule.Schedule, error) {
	a := s.forOwner(owner)
	if len(sch.Notify) > 0 {
		if owner != LocalOwner {
			return sch, Invalidf("notify", "only the local user has channels: omit notify")
		}
		names, err := a.NoticeNames()
		if err != nil {
			return sch, err
		}
		if sch.Notify, err = notice.ParseChannels(sch.Notify, names); err != nil {
			return sch, Invalidf("notify", "%w", err)
		}
		if slices.Contains(sch.Notify, notice.Bell) {
			return sch, Invalidf("notify", "a server has no terminal: use desktop, webhook or mail")
		}
	}
	if _, err := a.PersonaVoice(ctx, sch.Persona); err != nil {
		return sch, err
	}
	sch.Token = auth.CallerOf(ctx).Token
	return a.AddSchedule(ctx, s.Store, sch)
}

// ListScheduled implements [Scheduler].
func (s *Service) ListScheduled(ctx context.Context, owner string) ([]schedule.Schedule, error) {
	return s.forOwner(owner).Schedules(ctx, s.Store)
}

// RemoveScheduled implements [Scheduler].
func (s *Service) RemoveScheduled(ctx context.Context, owner, id string) error {
	_, err := s.forOwner(owner).RemoveSchedule(ctx, s.Store, id)
	return err
}
