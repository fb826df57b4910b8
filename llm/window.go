package llm

import (
	"sync"
	"time"
)

// Limits are token limits that a refusal names; zero is not named.
type Limits struct {
	Context int `json:"context,omitempty"` // tokens of request and answer
	Output  int `json:"output,omitempty"`  // tokens of an answer

	Prompt int `json:"-"` // tokens of the refused request
	Total  int `json:"-"` // tokens of the refused request, perhaps with those of the answer
	Excess int `json:"-"` // tokens of the refused request beyond the context
}

// Windows remembers the limits of models by full name, and estimates tokens. The zero value is
// ready. It is safe for concurrent use.
type Windows struct {
	// Learned, if set, is called when a refusal changed the limits of a model.
	Learned func(model string, l Limits)

	estimator Estimator

	mu    sync.Mutex
	known map[string]*window
}

// A window has what is known of the limits of a model.
type window struct {
	configured int // tokens; replaces all others
	table      int // tokens; for models of which nothing else is known
	lister     WindowLister
	learned    Limits // from refusals
	at         time.Time
	restored   bool // learned in an earlier process
}

const (
	maxWindows = 1000

	// LearnedLifetime is how long learned limits hold, because a server may restart with others.
	LearnedLifetime = 24 * time.Hour
)

// Lookup returns the context and output limits of a model; zero is unknown. The sources are, in this
// order: the configuration, refusals and the list of the server, of which the smaller context holds,
// and the price table.
func (w *Windows) Lookup(model string) Limits {
	w.mu.Lock()
	defer w.mu.Unlock()
	known := w.known[model]
	if known == nil {
		return Limits{}
	}
	l := known.learned
	if !known.at.IsZero() && time.Since(known.at) > LearnedLifetime {
		l = Limits{}
	}
	listed := 0
	if known.lister != nil {
		listed = known.lister.ListedContext()
	}
	switch {
	case known.configured > 0:
		l.Context = known.configured
	case listed > 0 && (l.Context == 0 || listed < l.Context || known.restored):
		l.Context = listed
	case l.Context == 0:
		l.Context = known.table
	}
	return l
}

// Configure sets the context of a model to that of the user, if positive.
func (w *Windows) Configure(model string, tokens int) {
	w.change(model, func(known *window) { known.configured = max(0, tokens) })
}

// Suggest sets the context of a model of which nothing else is known.
func (w *Windows) Suggest(model string, tokens int) {
	w.change(model, func(known *window) { known.table = max(0, tokens) })
}

// Restore remembers limits that were learned in an earlier process. Those that the server lists
// replace them.
func (w *Windows) Restore(model string, l Limits, at time.Time) {
	w.change(model, func(known *window) {
		if known.learned == (Limits{}) {
			known.learned, known.at, known.restored = Limits{Context: l.Context, Output: l.Output}, at, true
		}
	})
}

// Learn remembers the limits that a refusal names.
func (w *Windows) Learn(model string, l Limits) {
	var learned Limits
	changed := false
	w.change(model, func(known *window) {
		learned = known.learned
		if l.Context > 0 {
			learned.Context = l.Context
		}
		if l.Output > 0 {
			learned.Output = l.Output
		}
		changed = learned != known.learned || known.restored
		known.learned, known.at, known.restored = learned, time.Now(), false
	})
	if changed && w.Learned != nil {
		w.Learned(model, learned)
	}
}

func (w *Windows) addLister(model string, l WindowLister) {
	if l != nil {
		w.change(model, func(known *window) { known.lister = l })
	}
}

// change changes the window of a model.
func (w *Windows) change(model string, with func(*window)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known == nil {
		w.known = make(map[string]*window)
	}
	if w.known[model] == nil {
		w.makeRoom()
		w.known[model] = &window{}
	}
	with(w.known[model])
}

// makeRoom forgets a model that the user did not configure, if too many are known.
func (w *Windows) makeRoom() {
	for model, known := range w.known {
		if len(w.known) < maxWindows {
			return
		}
		if known.configured == 0 {
			delete(w.known, model)
		}
	}
}
