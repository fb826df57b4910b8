// Package files is the sensor of folders: which files in them are new, changed or gone.
//
// Each look compares what is there with the cursor. Events of the file system only save
// looking where nothing has happened: they are believed for some minutes, and not
// needed. Hidden files, those of version control, of package managers and of editors at
// work are left out, and no symbolic link is followed out of a folder.
//
// The first word of a State is new, changed or gone; the letters after it tell one
// content from another. Where many files have changed at once, one observation sums
// them up, and its state is "many". A file that changes all the time is told more and
// more rarely. A folder that is not there is "missing", and its files are not gone.
//
// Its cursor is a [cursor]: the folders, and of each file its path, size, time and
// hash, and the hashes of its lines if it is one of those that changed last.
package files

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"ponder"
	"ponder/sensor"
)

// Options say what is watched.
type Options struct {
	Paths    []string      // folders or files, at most 20
	Ignore   []string      // patterns, as of path.Match, of names or of paths below a folder
	MaxFiles int           // that are watched, the newest; 3,000 if zero, at most 5,000
	Rescan   time.Duration // for how long events are believed that say nothing; 20 minutes if zero, never if negative
	Trusted  bool          // no stranger writes there
}

// Bounds.
const (
	maxPaths  = 20
	maxFiles  = 3000
	mostFiles = 5000
	many      = 20 // changes of a look that are told each for itself
	rescan    = 20 * time.Minute
)

// Words of states.
const (
	stateNew     = "new"
	stateChanged = "changed"
	stateGone    = "gone"
	stateMany    = "many"
	stateMissing = "missing"
	stateBack    = "back"
)

// A folder watcher is a sensor, and what it saw last.
type watched struct {
	Options
	mu     sync.Mutex
	events *events
	looks  int
	seen   *snapshot
	memo   *decoded  // of the cursor that was read last
	still  *snapshot // in which nothing was new to that cursor
}

// New returns the sensor, which is called "files".
func New(o Options) sensor.Sensor {
	if o.MaxFiles <= 0 {
		o.MaxFiles = maxFiles
	}
	o.MaxFiles = min(o.MaxFiles, mostFiles)
	o.Rescan = cmp.Or(o.Rescan, rescan)
	w := &watched{Options: o}
	return sensor.Sensor{Name: "files", Look: w.look, Close: w.close}
}

func (w *watched) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.events = nil }()
	w.looks = -1 << 30 // no more events
	return w.events.close()
}

func (w *watched) look(ctx context.Context, now time.Time, raw json.RawMessage) ([]ponder.Observation, json.RawMessage, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	snap, err := w.scan(ctx, now)
	if err != nil {
		return nil, nil, err
	}
	before := w.decode(raw)
	if before != nil && w.still == snap {
		return nil, raw, nil
	}
	if before == nil && len(snap.missing) == len(snap.roots) {
		return nil, nil, fmt.Errorf("watch files: there is no %s: create it, or set other paths", sensor.Line(snap.roots[0], 200))
	}
	d := newDiff(w.Options, snap, before, now)
	defer d.close()
	if err := d.run(ctx); err != nil {
		return nil, nil, fmt.Errorf("watch files: %w", err)
	}
	if before != nil && !d.differs() && !d.held {
		w.still = snap
	}
	if before != nil && !d.differs() {
		return nil, raw, nil
	}
	next, err := d.next.encode()
	if err != nil {
		return nil, nil, fmt.Errorf("watch files: %w", err)
	}
	return d.observe(), next, nil
}

// decode reads a cursor; nil is that of the first look.
func (w *watched) decode(raw json.RawMessage) *decoded {
	if w.memo == nil || string(w.memo.raw) != string(raw) {
		w.memo, w.still = decode(raw), nil
	}
	return w.memo
}

// scan returns what is there now: what was there last, as long as events say that
// nothing happened since.
func (w *watched) scan(ctx context.Context, now time.Time) (*snapshot, error) {
	w.looks++
	if w.looks == 2 && w.Rescan > 0 { // a process that looks but once needs no events
		w.events = newEvents(w.Options.ignored)
		w.seen = nil
	}
	if w.seen != nil && w.events.quiet() && !now.Before(w.seen.at) && now.Sub(w.seen.at) < w.Rescan {
		return w.seen, nil
	}
	w.events.reset()
	roots, err := roots(w.Paths)
	if err != nil {
		return nil, err
	}
	w.seen = nil
	snap, err := scan(ctx, roots, w.Options, w.events)
	if err != nil {
		return nil, fmt.Errorf("watch files: %w", err)
	}
	snap.at = now
	w.seen = snap
	return snap, nil
}

// roots returns the folders as absolute paths, in order; one that is in another is
// left out.
func roots(paths []string) ([]string, error) {
	if len(paths) == 0 || len(paths) > maxPaths {
		return nil, fmt.Errorf("watch files: there are %d paths: set between 1 and %d", len(paths), maxPaths)
	}
	var all []string
	for _, p := range paths {
		abs, err := filepath.Abs(p)
		if p == "" || err != nil {
			return nil, errors.New("watch files: a path is empty: set folders")
		}
		if real, err := filepath.EvalSymlinks(abs); err == nil {
			abs = real
		}
		all = append(all, abs)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.DeleteFunc(slices.Clone(all), func(p string) bool {
		return slices.ContainsFunc(all, func(q string) bool { return p != q && under(p, q) })
	}), nil
}
