package llmtest

import (
	"maps"
	"sync"
	"time"
)

// A Record is what became of one request to a [Sim].
type Record struct {
	Time        time.Time   `json:"time"` // when it came
	Dialect     string      `json:"dialect"`
	Path        string      `json:"path"`
	Client      string      `json:"client,omitempty"` // address of the connection
	Model       string      `json:"model,omitempty"`
	Prompt      string      `json:"prompt,omitempty"`  // hash of what was asked, whatever the dialect
	Attempt     int         `json:"attempt,omitempty"` // counts how often it was asked
	PromptBytes int         `json:"prompt_bytes"`
	Input       int         `json:"input_tokens"`
	Output      int         `json:"output_tokens"` // written until the end, truly
	Status      int         `json:"status"`
	Behaviours  []Behaviour `json:"behaviours,omitempty"`
	Streamed    bool        `json:"streamed,omitempty"`
	Started     time.Time   `json:"started"` // first byte of the answer; zero if there was none
	Ended       time.Time   `json:"ended"`
	Whole       bool        `json:"whole"`               // the answer was sent to its end
	Cancelled   bool        `json:"cancelled,omitempty"` // the client closed the connection before the end

	Body []byte `json:"-"` // as it came
}

// Stats counts what a [Sim] was asked.
type Stats struct {
	Requests   int               `json:"requests"`  // ended
	Answers    int               `json:"answers"`   // whole ones of models
	Cancelled  int               `json:"cancelled"` // closed by the client before the end
	Failed     int               `json:"failed"`    // answered with an error status
	Repeated   int               `json:"repeated"`  // asked what had been asked before
	Active     int               `json:"active"`    // now
	Peak       int               `json:"peak"`      // most at a time
	Input      int               `json:"input_tokens"`
	Output     int               `json:"output_tokens"`
	Dialects   map[string]int    `json:"dialects"`
	Statuses   map[int]int       `json:"statuses"`
	Behaviours map[Behaviour]int `json:"behaviours"`
}

func newStats(active int) Stats {
	return Stats{
		Active: active, Peak: active,
		Dialects: make(map[string]int), Statuses: make(map[int]int), Behaviours: make(map[Behaviour]int),
	}
}

// Stats returns what was counted since the start or the last Reset.
func (s *Sim) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.stats
	out.Dialects = maps.Clone(out.Dialects)
	out.Statuses = maps.Clone(out.Statuses)
	out.Behaviours = maps.Clone(out.Behaviours)
	return out
}

func (s *Sim) began() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Active++
	s.stats.Peak = max(s.stats.Peak, s.stats.Active)
}

func (s *Sim) ended(r Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &s.stats
	t.Active--
	t.Requests++
	if r.Whole {
		t.Answers++
	}
	if r.Cancelled {
		t.Cancelled++
	}
	if r.Status >= 400 {
		t.Failed++
	}
	if r.Attempt > 1 {
		t.Repeated++
	}
	t.Input += r.Input
	t.Output += r.Output
	t.Dialects[r.Dialect]++
	t.Statuses[r.Status]++
	for _, b := range r.Behaviours {
		t.Behaviours[b]++
	}
}

// A tally counts by number. The zero value is ready.
type tally struct {
	mu sync.Mutex
	n  map[uint64]int
}

// maxTally bounds what a tally remembers: it then begins anew.
const maxTally = 1 << 20

// add counts one more and returns how many there are.
func (t *tally) add(key uint64) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == nil || len(t.n) >= maxTally {
		t.n = make(map[uint64]int)
	}
	t.n[key]++
	return t.n[key]
}

func (t *tally) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n = nil
}
