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
	"ponder/internal/textkit"
	"ponder/knowledge/recall"
	"ponder/llm"
	"ponder/mode/session"
	"ponder/mode/title"
	"ponder/store/sqlite"
)

type Service struct {
	*App                         // without an owner: see as
	life         context.Context //nolint:containedctx // of the process
	Since        time.Time
	Store        *sqlite.Store
	Meter        *metrics.Meter
	Log          ponder.Store
	Public       ponder.Store // for clients: see [stream.PublicStore]
	Hub          *stream.Hub
	DB           *serverDB
	rootEngine   *engine.Engine // parent of all engines
	place        *placement.Placement
	work         func(context.Context, ponder.ThreadID) error // guarded [Service.workThread]
	engines      *enginePool
	snapshots    sync.Map
	libraries    *LibraryPool
	Minds        *minds
	live         *stream.Broadcasts
	writings     session.TextStreams
	backgrounds  backgroundFeeds
	calibrations calibrations
	searches     bool          // web search is available
	ended        chan struct{} // receives after the end of work, for notices
	quotas       *quota.Quotas
}

// NewService returns a service. If serves is set, it also takes threads from the queue. The
// caller closes it.
func (a *App) NewService(ctx context.Context, store *sqlite.Store, serves bool) (s *Service, err error) {
	guard := stream.NewLinkGuard(store, a.Settings.Serve.RemoteContent)
	s = &Service{App: a, life: context.WithoutCancel(ctx), Store: store, Hub: stream.New(stream.PublicStore(store, guard)), ended: make(chan struct{}, 1)}
	if s.Meter, err = s.newMeter(); err != nil {
		return nil, err
	}
	s.Log = s.Meter.Store(store)
	s.Public = stream.PublicStore(s.Log, guard)
	s.live, s.backgrounds.list = s.Broadcasts(), make(map[string]*BackgroundFeed)
	s.calibrations.list = make(map[string]cachedCalibration)
	s.engines = &enginePool{make: s.buildEngine, list: make(map[string]*pooledEngine)}
	s.libraries = s.ShareLibraries(store, s.payFor)
	s.Minds = newMinds(s)
	n, err := s.Web(nil)
	if err != nil {
		return nil, err
	}
	n.Fetcher.Close()
	s.searches = n.Searcher != nil
	if s.DB, err = openServerDB(ctx, store.SQL()); err != nil {
		return nil, err
	}
	s.quotas = quota.New(store.SQL())
	if err := s.adoptRuns(ctx); err != nil {
		return nil, err
	}
	s.Since = time.Now() // before any work starts
	return s, s.openParts(ctx, serves)
}

func (s *Service) openParts(ctx context.Context, serves bool) (err error) {
	s.work = s.guardWork(s.workThread)
	node := placement.CurrentNode()
	if s.rootEngine, err = engine.New(engine.Config{Store: s.Log, Modes: []ponder.Mode{title.New()}, Node: node}); err != nil {
		return err
	}
	if err := s.rootEngine.Open(ctx); err != nil {
		return fmt.Errorf("open the engine: %w", err)
	}
	c := placement.Config{Store: s.Log, DB: s.Store.DB(), Node: node, Work: s.workAndReport, Ended: s.rootEngine.ReturnUnclaimed, Serve: serves}
	s.Minds.placed = c
	if s.place, err = placement.Open(ctx, c); err != nil {
		return errors.Join(err, s.rootEngine.Close(context.WithoutCancel(ctx)))
	}
	if !serves {
		return nil
	}
	go func() {
		if _, err := s.place.Recover(s.life); err != nil && ctx.Err() == nil {
			slog.Warn("cannot recover interrupted threads; retrying later", "error", err)
		}
	}()
	return nil
}

// Close stops all work and releases the threads.
func (s *Service) Close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), CloseTime)
	defer cancel()
	err := s.place.Close(ctx)
	s.Minds.close()
	s.calibrations.close()
	if err = errors.Join(err, s.rootEngine.Close(ctx)); err != nil {
		slog.Warn("cannot stop all work in time", "error", err)
		return
	}
	s.engines.close()
	s.libraries.Close()
	if err := s.Meter.Close(ctx); err != nil {
		slog.Warn("cannot export traces", "error", err)
	}
}

func (s *Service) newMeter() (*metrics.Meter, error) {
	version := s.Options.Version
	traces, err := metrics.TracesFromEnv(version)
	if err != nil {
		return nil, Invalidf("", "%w", err)
	}
	return metrics.New(metrics.Config{Version: version, Queue: s.queueLength, Watchers: s.Hub.Watchers, Lag: s.Hub.Lag, ModelServers: s.sets.modelServers, Traces: traces}), nil
}

// ModelNotes returns lines about models that get no calls and about calls that wait. Without the
// former, the service is not degraded.
func (s *Service) ModelNotes() (lines []string, degraded bool) {
	for _, m := range s.sets.modelServers() {
		for _, f := range m.Faults {
			lines, degraded = append(lines, describeFault(f)), true
		}
	}
	return append(lines, s.WaitNotes()...), degraded
}

// WaitNotes returns a line for each model server whose calls wait in this process.
func (a *App) WaitNotes() (lines []string) {
	for _, m := range a.sets.modelServers() {
		if n := m.Load.Waiting; n > 0 {
			lines = append(lines, fmt.Sprintf("%s: %s, %d in flight of at most %d", m.Name, textkit.Count(n, WaitWords[0], WaitWords[1]), m.Load.InFlight, m.Load.Limit))
		}
	}
	return lines
}

// WaitWords are the words of WaitNotes after a number.
var WaitWords = [2]string{"call waits", "calls wait"}

func describeFault(f llm.Fault) string {
	text, next := f.Model+": failed too often", "now"
	switch f.Class {
	case llm.Auth:
		text = f.Model + ": the server refuses the key"
	case llm.Payment:
		text = f.Model + ": the account has no credit"
	}
	if f.Status != 0 {
		text += fmt.Sprintf(" (%d)", f.Status)
	}
	if f.RetryAfter > 0 {
		next = "in " + f.RetryAfter.Round(time.Second).String()
	}
	return text + "; next test " + next
}

// queueLength returns the length of the queue, if the database answers in time.
func (s *Service) queueLength() (n int, known bool) {
	ctx, cancel := context.WithTimeout(s.life, ReadyTime)
	defer cancel()
	n, err := s.place.QueueLength(ctx)
	return n, err == nil
}

const cleanupInterval = time.Minute

// RunCleanup runs periodic cleanups until ctx is done.
func (s *Service) RunCleanup(ctx context.Context) {
	tick := time.NewTicker(cleanupInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.engines.dropStale()
			s.ForgetExchanges(ctx, time.Now())
			now := time.Now()
			if err := errors.Join(s.DB.cleanUpAll(ctx, now), s.quotas.Cleanup(ctx, now), s.cleanUpThreads(ctx, now.Add(-quota.StartTime))); err != nil && ctx.Err() == nil {
				slog.Warn("cannot delete expired data", "error", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

func (s *Service) forOwner(owner string) *App {
	return s.App.As(owner)
}

// defaultSources returns the default sources of an owner: memory if there is any, the web if it can be
// searched.
func (s *Service) defaultSources(ctx context.Context, owner string, noMemory, noWeb bool) (memory, web bool, err error) {
	if !noMemory {
		lib, err := s.libraries.Provider(owner)(ctx)
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

func (s *Service) threadOwner(ctx context.Context, id ponder.ThreadID) (*App, ponder.Info, error) {
	info, err := s.Store.Thread(ctx, id)
	if err != nil {
		return nil, info, err
	}
	return s.forOwner(info.Owner), info, nil
}

// workAndReport works on a thread, and reports write errors to its watchers.
func (s *Service) workAndReport(ctx context.Context, id ponder.ThreadID) error {
	err := s.work(ctx, id)
	s.Hub.ReportError(id, err)
	return err
}

// cleanUpThreads deletes records of missing threads. It keeps records made after before, since
// their threads may be about to appear.
func (s *Service) cleanUpThreads(ctx context.Context, before time.Time) error {
	gone, err := s.DB.goneThreads(ctx, before)
	if err != nil {
		return err
	}
	for _, id := range gone {
		if err := s.DB.Remove(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

const maxGone = 200

func (b *serverDB) goneThreads(ctx context.Context, before time.Time) (list []ponder.ThreadID, err error) {
	rows, err := b.db.Read.QueryContext(ctx, b.db.Bind(`SELECT thread FROM serve_thread WHERE since < ?
		AND NOT EXISTS (SELECT 1 FROM ponder_thread WHERE ponder_thread.id = serve_thread.thread AND ponder_thread.removed = 0) LIMIT ?`), before.Unix(), maxGone)
	if err != nil {
		return nil, fmt.Errorf("find records of removed threads: %w", err)
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

func (s *Service) checkRunnable(ctx context.Context, info ponder.Info) error {
	if info.Kind == ponder.KindSubconscious {
		return nil
	}
	e, err := s.DB.readThread(ctx, info.ID)
	if err != nil {
		return err
	}
	o, err := s.engineSpecFor(ctx, threadSnapshot{info: info, threadRecord: e})
	if err != nil {
		return err
	}
	_, leave, err := s.engines.acquire(ctx, o)
	if err != nil {
		return err
	}
	leave()
	return nil
}

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

type threadSnapshot struct {
	info ponder.Info
	threadRecord
	since time.Time
}

// snapshotLife is how long a snapshot stays valid.
const snapshotLife = time.Second

// startWork starts work with a fresh snapshot, which saves a read before the answer.
func (s *Service) startWork(ctx context.Context, known threadSnapshot) error {
	s.snapshots.Store(known.info.ID, known)
	return s.place.Start(ctx, known.info.ID)
}

func (s *Service) takeSnapshot(ctx context.Context, id ponder.ThreadID) (threadSnapshot, error) {
	if v, ok := s.snapshots.LoadAndDelete(id); ok {
		if known := v.(threadSnapshot); known.version == s.DB.version.Load() && time.Since(known.since) < snapshotLife {
			return known, nil
		}
	}
	info, err := s.Store.Thread(ctx, id)
	if err != nil || info.Kind == ponder.KindSubconscious {
		return threadSnapshot{info: info}, err
	}
	e, err := s.DB.readThread(ctx, id)
	return threadSnapshot{info: info, threadRecord: e}, err
}
