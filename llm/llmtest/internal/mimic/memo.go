package mimic

import "sync"

// Bounds of a memo.
const (
	memoTexts = 64
	memoBytes = 64 << 10 // of a text
)

// A Memo keeps what was made of texts lately: whoever asks a model many times sends the
// same schemas each time. The zero value is empty. It is safe for concurrent use.
type Memo[V any] struct {
	mu sync.Mutex
	of map[string]V
}

// Load returns what was made of a text, if that is known.
func (m *Memo[V]) Load(text []byte) (v V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok = m.of[string(text)]
	return v, ok
}

// Store keeps what was made of a text, in place of all others if there are too many.
func (m *Memo[V]) Store(text []byte, v V) {
	if len(text) > memoBytes {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil || len(m.of) >= memoTexts {
		m.of = make(map[string]V)
	}
	m.of[string(text)] = v
}
