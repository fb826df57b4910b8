package files

import (
	"path/filepath"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// maxDirs limits the watched folders. With more, each look reads all folders.
const maxDirs = 2000

// A fsEvents receives events of the file system. A nil events is never quiet.
type fsEvents struct {
	watcher *fsnotify.Watcher
	ignored func(root, path string) bool

	folders int // watched folders since the last scan

	mu     sync.Mutex
	dirty  bool // an event occurred
	broken bool // events are incomplete
}

// newFSEvents returns nil if the system has no events.
func newFSEvents(ignored func(root, path string) bool) *fsEvents {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil
	}
	e := &fsEvents{watcher: w, ignored: ignored, dirty: true}
	go e.receiveEvents()
	return e
}

func (e *fsEvents) receiveEvents() {
	for {
		select {
		case event, ok := <-e.watcher.Events:
			if !ok {
				return
			}
			if event.Op != fsnotify.Chmod && !e.ignored(filepath.Dir(event.Name), event.Name) {
				e.markDirty()
			}
		case _, ok := <-e.watcher.Errors:
			if !ok {
				return
			}
			e.markDirty() // events may be lost
		}
	}
}

func (e *fsEvents) markDirty() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.dirty = true
}

func (e *fsEvents) watchFolder(dir string) {
	if e == nil {
		return
	}
	e.folders++
	if e.folders > maxDirs || e.watcher.Add(dir) != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.broken = true
	}
}

// isQuiet reports whether no event occurred since reset.
func (e *fsEvents) isQuiet() bool {
	if e == nil {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.dirty && !e.broken
}

func (e *fsEvents) reset() {
	if e == nil {
		return
	}
	e.folders = 0
	e.mu.Lock()
	defer e.mu.Unlock()
	e.dirty, e.broken = false, false
}

func (e *fsEvents) close() error {
	if e == nil {
		return nil
	}
	return e.watcher.Close()
}
