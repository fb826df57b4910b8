package files

import (
	"path/filepath"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// maxDirs is how many folders are watched for events; where there are more, each look
// reads them all.
const maxDirs = 2000

// An events is what the file system says. A nil one is never quiet.
type events struct {
	watcher *fsnotify.Watcher
	ignored func(root, path string) bool

	folders int // that are watched, as of the last scan

	mu     sync.Mutex
	dirty  bool // something has happened
	broken bool // not all is told
}

// newEvents returns the events of folders, or nil if there are none here.
func newEvents(ignored func(root, path string) bool) *events {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil
	}
	e := &events{watcher: w, ignored: ignored, dirty: true}
	go e.listen()
	return e
}

func (e *events) listen() {
	for {
		select {
		case event, ok := <-e.watcher.Events:
			if !ok {
				return
			}
			if event.Op != fsnotify.Chmod && !e.ignored(filepath.Dir(event.Name), event.Name) {
				e.note()
			}
		case _, ok := <-e.watcher.Errors:
			if !ok {
				return
			}
			e.note() // some may be lost
		}
	}
}

func (e *events) note() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.dirty = true
}

// watch has events of a folder told.
func (e *events) watch(dir string) {
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

// quiet reports whether nothing has happened since reset.
func (e *events) quiet() bool {
	if e == nil {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.dirty && !e.broken
}

// reset is called before folders are read.
func (e *events) reset() {
	if e == nil {
		return
	}
	e.folders = 0
	e.mu.Lock()
	defer e.mu.Unlock()
	e.dirty, e.broken = false, false
}

func (e *events) close() error {
	if e == nil {
		return nil
	}
	return e.watcher.Close()
}
