package llmtest

import (
	"context"
	"iter"
	"net"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"

	"ponder/llm/llmtest/internal/mimic"
)

// A stream writes at the model's speed and breaks as required. Later writes are lost.
type stream struct {
	x       *exchange
	r       *reply
	buf     []byte // unsent
	fault   Behaviour
	after   int // until strike
	deltas  int
	slow    int // factor
	ended   bool
	flusher *http.ResponseController
}

const (
	slowFactor   = 10
	flushBytes   = 8 << 10
	commentEvery = 4 // deltas
	endlessPause = time.Millisecond
)

func (c behaviourSet) midwayFault() Behaviour {
	for _, b := range c {
		switch b {
		case OverloadedMidway, Cut, Drop, ResetMidway, Stall, BadFrame:
			return b
		}
	}
	return ""
}

func (x *exchange) completeRequest(a *parsedRequest) {
	x.rec.Model = a.model
	if why, ok := x.checkLimits(); !ok {
		x.sendFailure(why)
		return
	}
	if !x.hasModel(a.model) {
		x.sendFailure(failure{kind: noModel})
		return
	}
	r, why, ok := x.planReply(a)
	if !ok {
		x.sendFailure(why)
		return
	}
	if x.config.Record == nil {
		x.rec.Body = nil
	}
	a.last, a.system, a.results, a.all = "", "", "", nil // free early
	s := &stream{x: x, r: r, fault: r.behaviours.midwayFault(), slow: 1, flusher: http.NewResponseController(x.w)}
	if r.behaviours.hasBehaviour(Slow) {
		s.slow = slowFactor
	}
	if n := s.countDeltas(a); n > 1 {
		s.after = 1 + r.rng.IntN(n-1)
	}
	switch {
	case r.behaviours.hasBehaviour(Hang) || r.behaviours.hasBehaviour(Endless) && !a.stream:
		<-x.r.Context().Done()
	case a.stream:
		s.writeEvents(a)
	default:
		s.writeWhole(a)
	}
}

func (x *exchange) hasModel(model string) bool {
	if len(x.config.Models) == 0 {
		return model != ""
	}
	return slices.ContainsFunc(x.config.Models, func(m string) bool { return m == model || m+":latest" == model })
}

func (s *stream) countDeltas(a *parsedRequest) int {
	n := 0
	for _, text := range []string{s.r.reasoning, s.r.text} {
		k := countPieces(text)
		if s.x.config.Chunks > 0 {
			k = min(k, s.x.config.Chunks)
		}
		n += k
	}
	return n + len(s.r.calls)
}

func (s *stream) writeEvents(a *parsedRequest) {
	if !s.waitDelay(s.r.first) {
		return
	}
	s.x.w.Header().Set("Content-Type", s.x.dialect.contentType)
	s.x.w.Header().Set("Cache-Control", "no-cache")
	s.x.w.WriteHeader(http.StatusOK)
	s.x.rec.Started = time.Now()
	s.x.dialect.stream(s, a, s.r)
	if s.ended {
		return
	}
	s.flush()
	s.x.done = !s.ended
	s.x.rec.Whole = !s.ended && !s.r.behaviours.hasBehaviour(NoEnd)
}

// eachPiece yields the text of each event.
func (s *stream) eachPiece(text string, yield func(piece string) bool) {
	for p := range splitPieces(text, s.x.config.Chunks, s.r.behaviours.hasBehaviour(Endless) && text == s.r.text) {
		if !yield(p) || !s.nextDelta(countPieces(p)) {
			return
		}
	}
}

// nextDelta waits for the next event or breaks the answer, and reports whether to continue.
func (s *stream) nextDelta(tokens int) bool {
	if s.ended {
		return false
	}
	s.deltas++
	s.x.rec.Output += tokens
	if s.r.behaviours.hasBehaviour(Comments) && s.deltas%commentEvery == 0 {
		s.buf = append(s.buf, s.x.dialect.comment...)
	}
	if s.fault != "" && s.deltas >= max(s.after, 1) {
		return s.breakAnswer()
	}
	if s.r.behaviours.hasBehaviour(Endless) && s.x.config.Token.Mean == 0 {
		return s.waitDelay(Delay{Mean: endlessPause})
	}
	if len(s.buf) > flushBytes {
		s.flush()
	}
	return s.waitDelay(s.x.config.Token)
}

func (s *stream) shouldEnd() bool { return !s.ended && !s.r.behaviours.hasBehaviour(NoEnd) }

// breakAnswer breaks the answer, and reports whether it continues.
func (s *stream) breakAnswer() bool {
	strike := s.fault
	s.fault = ""
	switch strike {
	case BadFrame:
		s.buf = append(s.buf, s.x.dialect.garbage...)
		return true
	case OverloadedMidway:
		s.buf = append(s.buf, s.x.dialect.inband(failure{kind: overloaded, model: s.r.model})...)
	}
	s.flush()
	s.ended = true
	switch strike {
	case Stall:
		<-s.x.r.Context().Done()
	case Drop, ResetMidway:
		s.hangUp(strike == ResetMidway)
	}
	return false
}

func (s *stream) hangUp(reset bool) {
	conn, _, err := s.flusher.Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0) // else gracefully
	}
	_ = conn.Close()
}

// waitDelay flushes and waits, and reports whether the client remains.
func (s *stream) waitDelay(d Delay) bool {
	for range s.slow {
		if s.ended {
			return false
		}
		if t := d.drawDelay(s.r.rng); t > 0 {
			s.flush()
			s.ended = s.ended || !sleepContext(s.x.r.Context(), t)
		}
	}
	return !s.ended
}

// sleepContext waits, and reports whether ctx lasted.
func sleepContext(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *stream) flush() {
	if len(s.buf) == 0 || s.ended {
		return
	}
	_, err := s.x.w.Write(s.buf)
	if err == nil {
		err = s.flusher.Flush()
	}
	s.buf = s.buf[:0]
	s.ended = err != nil
}

func (s *stream) writeWhole(a *parsedRequest) {
	if !s.waitDelay(s.r.first) {
		return
	}
	body := s.x.dialect.whole(a, s.r)
	n := s.r.outputTokens()
	if c := s.x.config.Chunks; c > 0 {
		n = min(n, c)
	}
	if s.x.config.Token.Mean > 0 {
		for range n {
			if !s.waitDelay(s.x.config.Token) {
				return
			}
		}
	}
	switch s.fault {
	case "":
		s.x.sendBody(http.StatusOK, "application/json", body)
		s.x.rec.Output, s.x.rec.Whole = s.r.outputTokens(), true
	case OverloadedMidway:
		s.x.sendFailure(failure{kind: overloaded})
	case BadFrame:
		s.x.sendBody(http.StatusOK, "application/json", []byte(mimic.Mangle(3, string(body[:len(body)/2]))))
	case Cut:
		s.x.sendBody(http.StatusOK, "application/json", body[:len(body)/2])
	default:
		s.writeHalf(body)
	}
}

// writeHalf sends half of a body, then breaks.
func (s *stream) writeHalf(body []byte) {
	s.x.w.Header().Set("Content-Type", "application/json")
	s.buf = append(s.buf, body[:len(body)/2]...)
	s.breakAnswer()
}

const pieceBytes = 8

// nextPiece returns the length of a token: a word with its leading space, or part of a
// long word.
func nextPiece(s string) int {
	n := 0
	for n < len(s) && s[n] <= ' ' {
		n++
	}
	end := n + pieceBytes
	for n < len(s) && s[n] > ' ' && n < end {
		n++
	}
	for n < len(s) && !utf8.RuneStart(s[n]) {
		n++
	}
	return n
}

func countPieces(s string) (n int) {
	for s != "" {
		s = s[nextPiece(s):]
		n++
	}
	return n
}

func cutPieces(s string, n int) string {
	rest := s
	for range max(n, 0) {
		if rest == "" {
			return s
		}
		rest = rest[nextPiece(rest):]
	}
	return s[:len(s)-len(rest)]
}

// splitPieces yields up to chunks pieces of whole tokens, or tokens if chunks is 0. endless
// repeats them.
func splitPieces(s string, chunks int, endless bool) iter.Seq[string] {
	return func(yield func(string) bool) {
		each := 1
		if n := countPieces(s); chunks > 0 {
			each = (n + chunks - 1) / chunks
		}
		for {
			for rest := s; rest != ""; {
				p := cutPieces(rest, each)
				if !yield(p) {
					return
				}
				rest = rest[len(p):]
			}
			if !endless || !yield("\n") {
				return
			}
		}
	}
}

func appendQuoted(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				b = append(append(b, s[from:i]...), `\ufffd`...)
				from = i + 1
			}
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[from:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		from = i
	}
	return append(append(b, s[from:]...), '"')
}
