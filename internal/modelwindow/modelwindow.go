// Package modelwindow keeps the windows of models that refusals named, so that the next command knows
// them.
//
// The file is one JSON object: by model and URL of its server, the limits in tokens and the time at
// which they were learned. Limits older than [llm.LearnedLifetime] are dropped.
package modelwindow

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"sync"
	"time"

	"ponder/internal/fileio"
	"ponder/llm"
)

// A File keeps learned windows. It is safe for concurrent use. Of two processes that save at the same
// time, one may lose a window, which costs a refusal.
type File struct {
	path string
	mu   sync.Mutex
}

// NewFile returns the file at path, which may not exist.
func NewFile(path string) *File { return &File{path: path} }

type entry struct {
	llm.Limits
	At time.Time `json:"at"`
}

const (
	maxEntries = 200
	maxBytes   = 1 << 20
)

// Load returns the limits of a model of the server at base, and when they were learned.
func (f *File) Load(model, base string) (l llm.Limits, at time.Time, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.read()[key(model, base)]
	return e.Limits, e.At, ok
}

// Save records the limits of a model of the server at base.
func (f *File) Save(model, base string, l llm.Limits) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.read()
	known[key(model, base)] = entry{Limits: l, At: time.Now().UTC()}
	data, err := json.MarshalIndent(known, "", "\t")
	if err == nil {
		err = fileio.MakeStateDir(filepath.Dir(f.path))
	}
	if err == nil {
		err = fileio.WriteState(f.path, data)
	}
	if err != nil {
		return fmt.Errorf("save the window of %s: %w", model, err)
	}
	return nil
}

func key(model, base string) string { return model + " " + base }

// read returns the entries that still hold, none if the file is missing or invalid.
func (f *File) read() map[string]entry {
	known := make(map[string]entry)
	data, err := fileio.ReadFile(f.path, maxBytes)
	if err != nil || json.Unmarshal(data, &known) != nil {
		return make(map[string]entry)
	}
	maps.DeleteFunc(known, func(_ string, e entry) bool {
		age := time.Since(e.At)
		return age < 0 || age > llm.LearnedLifetime || e.Context < 0 || e.Output < 0
	})
	for k := range known {
		if len(known) < maxEntries {
			break
		}
		delete(known, k)
	}
	return known
}
