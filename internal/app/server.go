package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/internal/metrics"
	"ponder/internal/placement"
	"ponder/internal/quota"
	"ponder/internal/stream"
	"ponder/knowledge/recall"
	"ponder/mode/session"
	"ponder/mode/title"
	"ponder/store/sqlite"
)

// A server is what answers programs, and works on threads.
type Service struct {
	*App                          // of nobody in particular: see as
	life          context.Context //nolint:containedctx // of the process
	Since         time.Time       // when it was begun
	Store         *sqlite.Store
	Meter         *metrics.Meter
	Log           ponder.Store // that of store, and the meter sees what is appended
	Hub           *stream.Hub
	Books         *serverDB
	mind          *engine.Engine // that others are made of
	place         *placement.Placement
	outfits       *enginePool
	briefs        sync.Map // of threads that are being started, by their ids
	shelves       *LibraryPool
	Minds         *minds
	live          *stream.Broadcasts
	writings      session.Writings
	undercurrents backgroundFeeds
	worths        calibrations
	searches      bool // the web can be searched
	quotas        *quota.Quotas
}

// server returns one that works on threads: if it serves, on those that others leave to
// it, too. The caller closes it.
func (a *App) NewService(ctx context.Context, store *sqlite.Store, serves bool) (s *Service, err error) {
	s = &Service{App: a, life: context.WithoutCancel(ctx), Store: store, Hub: stream.New(store)}
	if s.Meter, err = s.newMeter(); err != nil {
		return nil, err
	}
	s.Log = s.Meter.Store(store)
	s.live, s.undercurrents.list = s.Broadcasts(), make(map[string]*BackgroundFeed)
	s.worths.list = make(map[string]cachedCalibration)
	s.outfits = &enginePool{make: s.dress, list: make(map[string]*pooledEngine)}
	s.shelves = s.ShareLibraries(store, s.payFor)
	s.Minds = newMinds(s)
	n, err := s.Web(nil)
	if err != nil {
		return nil, err
	}
	n.Fetcher.Close()
	s.searches = n.Searcher != nil
	if s.Books, err = openBooks(ctx, store.SQL()); err != nil {
		return nil, err
	}
	s.quotas = quota.New(store.SQL())
	if err := s.adoptRuns(ctx); err != nil {
		return nil, err
	}
	s.Since = time.Now() // before anything is worked on
	return s, s.open(ctx, serves)
}

// open begins to work on threads.
func (s *Service) open(ctx context.Context, serves bool) (err error) {
	node := placement.Self()
	if s.mind, err = engine.New(engine.Config{Store: s.Log, Modes: []ponder.Mode{title.New()}, Node: node}); err != nil {
		return err
	}
	if err := s.mind.Open(ctx); err != nil {
		return fmt.Errorf("begin to think: %w", err)
	}
	c := placement.Config{Store: s.Log, DB: s.Store.DB(), Node: node, Work: s.workTold, Ended: s.mind.ReturnUnclaimed, Serve: serves}
	s.Minds.placed = c
	if s.place, err = placement.Open(ctx, c); err != nil {
		return errors.Join(err, s.mind.Close(context.WithoutCancel(ctx)))
	}
	if !serves {
		return nil
	}
	go func() {
		if _, err := s.place.Recover(s.life); err != nil && ctx.Err() == nil {
			slog.Warn("what was left is looked for later", "error", err)
		}
	}()
	return nil
}

// Close stops all work, so that other processes may take it at once.
func (s *Service) Close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), CloseTime)
	defer cancel()
	err := s.place.Close(ctx)
	s.Minds.close()
	s.worths.close()
	if err = errors.Join(err, s.mind.Close(ctx)); err != nil {
		slog.Warn("not all work has ended in order", "error", err)
		return // what is at work still uses the rest
	}
	s.outfits.close()
	s.shelves.Close()
	if err := s.Meter.Close(ctx); err != nil {
		slog.Warn("traces are lost", "error", err)
	}
}

// newMeter returns what counts, and makes traces if the environment wants them.
func (s *Service) newMeter() (*metrics.Meter, error) {
	version := s.Options.Version
	traces, err := metrics.TracesFromEnv(version)
	if err != nil {
		return nil, Invalidf("", "%w", err)
	}
	return metrics.New(metrics.Config{Version: version, Queue: s.waiting, Watchers: s.Hub.Watchers, Lag: s.Hub.Lag, Traces: traces}), nil
}

// waiting returns how many threads wait to be worked on, if the database says so in time.
func (s *Service) waiting() (n int, known bool) {
	ctx, cancel := context.WithTimeout(s.life, ReadyTime)
	defer cancel()
	n, err := s.place.Waiting(ctx)
	return n, err == nil
}

// tidyEvery is how often the server is kept small.
const tidyEvery = time.Minute

// tidying does now and then what keeps the server small.
func (s *Service) Tidying(ctx context.Context) {
	tick := time.NewTicker(tidyEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.outfits.rest()
			s.ForgetExchanges(ctx, time.Now())
			now := time.Now()
			if err := errors.Join(s.Books.tidyAll(ctx, now), s.quotas.Cleanup(ctx, now), s.tidyThreads(ctx, now.Add(-quota.StartTime))); err != nil && ctx.Err() == nil {
				slog.Warn("what is old is kept for now", "error", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

func (s *Service) as(owner string) *App {
	return s.App.As(owner)
}

// looks says what is looked into for an owner, by default: what is remembered, if
// anything is, and the web, if there is a way to search it.
func (s *Service) looks(ctx context.Context, owner string, noMemory, noWeb bool) (memory, web bool, err error) {
	if !noMemory {
		lib, err := s.shelves.Provider(owner)(ctx)
		if err != nil {
			return false, false, err
		}
		defer lib.Release()
		list, err := lib.List(ctx, recall.Filter{Kinds: EvidenceKinds(), N: 1})
		if err != nil {
			return false, false, err
		}
		memory = len(list) > 0
	}
	return memory, !noWeb && s.searches, nil
}

func (s *Service) whose(ctx context.Context, id ponder.ThreadID) (*App, ponder.Info, error) {
	info, err := s.Store.Thread(ctx, id)
	if err != nil {
		return nil, info, err
	}
	return s.as(info.Owner), info, nil
}

// workTold works on a thread, and tells those who look on if nothing can be written.
func (s *Service) workTold(ctx context.Context, id ponder.ThreadID) error {
	err := s.work(ctx, id)
	s.Hub.Trouble(id, err)
	return err
}

// tidyThreads forgets what is kept of threads that are gone, such as those that a command
// has removed, or whose deletion came before what was kept of them. Nothing is forgotten
// that was kept after a time: its thread may be about to begin.
func (s *Service) tidyThreads(ctx context.Context, before time.Time) error {
	gone, err := s.Books.gone(ctx, before)
	if err != nil {
		return err
	}
	for _, id := range gone {
		if err := s.Books.Remove(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// mostGone is how many threads are forgotten at once.
const mostGone = 200

// gone returns threads that something was kept of before a time, and that are not there.
func (b *serverDB) gone(ctx context.Context, before time.Time) (list []ponder.ThreadID, err error) {
	rows, err := b.db.Read.QueryContext(ctx, b.db.Bind(`SELECT thread FROM serve_thread WHERE since < ?
		AND NOT EXISTS (SELECT 1 FROM ponder_thread WHERE ponder_thread.id = serve_thread.thread AND ponder_thread.removed = 0) LIMIT ?`), before.Unix(), mostGone)
	if err != nil {
		return nil, fmt.Errorf("look for what is kept of threads that are gone: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id ponder.ThreadID
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		list = append(list, id)
	}
	return list, rows.Err()
}

const ReadyTime = 2 * time.Second // for the database to answer

func (s *Service) fits(ctx context.Context, info ponder.Info) error {
	if info.Kind == ponder.KindSubconscious {
		return nil
	}
	e, err := s.Books.entry(ctx, info.ID)
	if err != nil {
		return err
	}
	o, err := s.outfitOf(ctx, threadSnapshot{info: info, entry: e})
	if err != nil {
		return err
	}
	_, leave, err := s.outfits.wear(ctx, o)
	if err != nil {
		return err
	}
	leave()
	return nil
}

// databasePath returns the path of the database, the same from wherever it is named; or
// "" if there is none.
func (a *App) DatabasePath() string {
	db, err := filepath.Abs(a.Settings.DB)
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(db); err == nil {
		return real
	}
	return db
}

// A brief is what is known of a thread that is to be worked on.
type threadSnapshot struct {
	info ponder.Info
	entry
	since time.Time // when it was looked at
}

// briefLife is how long a brief is as good as looking again.
const briefLife = time.Second

// start has a thread worked on that was looked at just now, so that it need not be looked
// at once more before a message is answered.
func (s *Service) start(ctx context.Context, known threadSnapshot) error {
	s.briefs.Store(known.info.ID, known)
	return s.place.Start(ctx, known.info.ID)
}

// briefed returns what is known of a thread that is worked on now.
func (s *Service) briefed(ctx context.Context, id ponder.ThreadID) (threadSnapshot, error) {
	if v, ok := s.briefs.LoadAndDelete(id); ok {
		if known := v.(threadSnapshot); known.turn == s.Books.turn.Load() && time.Since(known.since) < briefLife {
			return known, nil
		}
	}
	info, err := s.Store.Thread(ctx, id)
	if err != nil || info.Kind == ponder.KindSubconscious {
		return threadSnapshot{info: info}, err
	}
	e, err := s.Books.entry(ctx, id)
	return threadSnapshot{info: info, entry: e}, err
}
