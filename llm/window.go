package llm

import (
	"sync"
	"time"
)

// Limits are what is known of a model: token limits, of which zero is unknown, and a habit.
type Limits struct {
	Context int `json:"context,omitempty"` // tokens of request and answer
	Output  int `json:"output,omitempty"`  // tokens of an answer

	Repeats bool `json:"repeats,omitempty"` // the model repeated itself in a structured answer

	Prompt int `json:"-"` // tokens of the refused request
	Total  int `json:"-"` // tokens of the refused request, perhaps with those of the answer
	Excess int `json:"-"` // tokens of the refused request beyond the context
}

// Windows remembers the limits of models by full name, and estimates tokens. The zero value is
// ready. It is safe for concurrent use.
type Windows struct {
	// Learned, if set, is called when an answer or a refusal changed what is known of a model.
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
	tested     time.Time
}

// isExpired reports whether the learned limits hold no longer.
func (k *window) isExpired() bool { return !k.at.IsZero() && time.Since(k.at) > LearnedLifetime }

const (
	maxWindows = 1000

	// LearnedLifetime is how long learned limits hold, because a server may restart with others.
	LearnedLifetime = 24 * time.Hour

	// windowTestPause is the least time between requests that test a learned context, because one
	// wrong refusal must not make a model unavailable.
	windowTestPause = 5 * time.Minute
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
	if known.isExpired() {
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
			known.learned, known.at, known.restored = Limits{Context: l.Context, Output: l.Output, Repeats: l.Repeats}, at, true
		}
	})
}

// startTest reports whether a request that seems too long may test the context of a model now: only
// one that a refusal named, and that neither the user nor the server confirms.
func (w *Windows) startTest(model string, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	known := w.known[model]
	if known == nil || known.configured > 0 || known.learned.Context == 0 || now.Sub(known.at) < windowTestPause || now.Sub(known.tested) < windowTestPause {
		return false
	}
	if known.lister != nil && known.lister.ListedContext() > 0 {
		return false
	}
	known.tested = now
	return true
}

// noteAccepted forgets a learned context that an answered request exceeds.
func (w *Windows) noteAccepted(model string, tokens int) {
	w.mu.Lock()
	known := w.known[model]
	wrong := known != nil && known.learned.Context > 0 && tokens > known.learned.Context
	var learned Limits
	if wrong {
		known.learned.Context = 0
		learned = known.learned
	}
	w.mu.Unlock()
	if wrong && w.Learned != nil {
		w.Learned(model, learned)
	}
}

// Learn remembers the limits that a refusal names, unless no model has so small a context.
func (w *Windows) Learn(model string, l Limits) {
	if l.Context < minContext {
		l.Context = 0
	}
	if l.Context <= 0 && l.Output <= 0 {
		return
	}
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

// noteRepetition remembers that a model repeated itself.
func (w *Windows) noteRepetition(model string) {
	var learned Limits
	w.change(model, func(known *window) {
		if known.learned == (Limits{}) || known.isExpired() {
			known.learned, known.at = Limits{}, time.Now()
		}
		known.learned.Repeats = true
		learned = known.learned
	})
	if w.Learned != nil {
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
