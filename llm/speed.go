package llm

import "time"

// A Speed is the speed of a model, learned from its calls. The zero value knows nothing.
type Speed struct {
	Bytes  float64 `json:"bytes,omitempty"`    // of a request; see [Request.Size]
	First  float64 `json:"first_ms,omitempty"` // until the first output of its answer
	Rate   float64 `json:"rate,omitempty"`     // tokens of output per second; 0 if answers arrive in one piece
	Output float64 `json:"output,omitempty"`   // tokens of a complete answer
}

// A CallSample is the measurement of one call.
type CallSample struct {
	Bytes    int           // of the request
	First    time.Duration // until the first output
	Took     time.Duration
	Tokens   int  // of output
	Complete bool // the model ended the answer
}

// Limits of what a Speed learns from. Shorter answers arrive in too few pieces to measure a rate.
const (
	minSpeedTokens = 16
	minSpeedTime   = 50 * time.Millisecond
	speedWeight    = 0.5 // of the newest call
)

// Learn returns the speed after a call. The time to the first output rises at once and falls
// slowly, because an estimate that is too short costs the answer.
func (s Speed) Learn(t CallSample) Speed {
	if t.First <= 0 || t.Took < t.First {
		return s
	}
	first, was := float64(t.First.Milliseconds()), s.firstMillis(t.Bytes)
	bytes := float64(max(1, t.Bytes))
	switch {
	case s.Bytes == 0, first >= was:
		s.Bytes, s.First = bytes, first
	default:
		s.Bytes, s.First = blend(s.Bytes, bytes), blend(s.First, first)
	}
	if writing := t.Took - t.First; t.Tokens >= minSpeedTokens && writing >= minSpeedTime {
		s.Rate = blend(s.Rate, float64(t.Tokens)/writing.Seconds())
	}
	if t.Complete {
		s.Output = blend(s.Output, float64(t.Tokens))
	}
	return s
}

// blend returns the moving mean of a value; the first value counts in full.
func blend(mean, value float64) float64 {
	if mean == 0 {
		return value
	}
	return mean + speedWeight*(value-mean)
}

// IsKnown reports whether the speed was learned from a call.
func (s Speed) IsKnown() bool { return s.Bytes > 0 }

// firstMillis grows with the request, but does not shrink below the measured time.
func (s Speed) firstMillis(bytes int) float64 {
	if s.Bytes == 0 {
		return 0
	}
	return s.First * max(1, float64(bytes)/s.Bytes)
}

// FirstOutput returns the expected time until the first output for a request.
func (s Speed) FirstOutput(bytes int) time.Duration {
	return time.Duration(min(s.firstMillis(bytes), maxSpeedMillis)) * time.Millisecond
}

// maxSpeedMillis bounds estimates, so that they do not overflow.
const maxSpeedMillis = 24 * 3600 * 1000

// CallTime returns the expected time of a call that writes a number of tokens.
func (s Speed) CallTime(bytes, tokens int) time.Duration {
	took := s.firstMillis(bytes)
	if s.Rate > 0 {
		took += 1000 * float64(tokens) / s.Rate
	}
	return time.Duration(min(took, maxSpeedMillis)) * time.Millisecond
}

// TokensWithin returns the expected tokens of output for a request within a time, or limit if the
// rate is unknown or higher.
func (s Speed) TokensWithin(bytes int, d time.Duration, limit int) int {
	if s.Rate <= 0 {
		return limit
	}
	tokens := s.Rate * (d - s.FirstOutput(bytes)).Seconds()
	return int(max(0, min(tokens, float64(limit))))
}
