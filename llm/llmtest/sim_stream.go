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
	strike  Behaviour
	after   int // until strike
	deltas  int
	slow    int // factor
	over    bool
	flusher *http.ResponseController
}

const (
	slowFactor   = 10
	flushBytes   = 8 << 10
	commentEvery = 4 // deltas
	endlessPause = time.Millisecond
)

func (c conduct) midway() Behaviour {
	for _, b := range c {
		switch b {
		case OverloadedMidway, Cut, Drop, ResetMidway, Stall, BadFrame:
			return b
		}
	}
	return ""
}

func (x *exchange) complete(a *ask) {
	x.rec.Model = a.model
	if why, ok := x.within(); !ok {
		x.fail(why)
		return
	}
	if !x.has(a.model) {
		x.fail(failure{kind: noModel})
		return
	}
	r, why, ok := x.plan(a)
	if !ok {
		x.fail(why)
		return
	}
	if x.config.Record == nil {
		x.rec.Body = nil
	}
	a.last, a.system, a.results, a.all = "", "", "", nil // free early
	s := &stream{x: x, r: r, strike: r.conduct.midway(), slow: 1, flusher: http.NewResponseController(x.w)}
	if r.conduct.has(Slow) {
		s.slow = slowFactor
	}
	if n := s.count(a); n > 1 {
		s.after = 1 + r.rng.IntN(n-1)
	}
	switch {
	case r.conduct.has(Hang) || r.conduct.has(Endless) && !a.stream:
		<-x.r.Context().Done()
	case a.stream:
		s.events(a)
	default:
		s.whole(a)
	}
}

func (x *exchange) has(model string) bool {
	if len(x.config.Models) == 0 {
		return model != ""
	}
	return slices.ContainsFunc(x.config.Models, func(m string) bool { return m == model || m+":latest" == model })
}

func (s *stream) count(a *ask) int {
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

func (s *stream) events(a *ask) {
	if !s.wait(s.r.first) {
		return
	}
	s.x.w.Header().Set("Content-Type", s.x.dialect.contentType)
	s.x.w.Header().Set("Cache-Control", "no-cache")
	s.x.w.WriteHeader(http.StatusOK)
	s.x.rec.Started = time.Now()
	s.x.dialect.stream(s, a, s.r)
	if s.over {
		return
	}
	s.flush()
	s.x.done = !s.over
	s.x.rec.Whole = !s.over && !s.r.conduct.has(NoEnd)
}

// text yields the text of each event.
func (s *stream) text(text string, yield func(piece string) bool) {
	for p := range pieces(text, s.x.config.Chunks, s.r.conduct.has(Endless) && text == s.r.text) {
		if !yield(p) || !s.delta(countPieces(p)) {
			return
		}
	}
}

// delta waits for the next event or breaks the answer, and reports whether to continue.
func (s *stream) delta(tokens int) bool {
	if s.over {
		return false
	}
	s.deltas++
	s.x.rec.Output += tokens
	if s.r.conduct.has(Comments) && s.deltas%commentEvery == 0 {
		s.buf = append(s.buf, s.x.dialect.comment...)
	}
	if s.strike != "" && s.deltas >= max(s.after, 1) {
		return s.snap()
	}
	if s.r.conduct.has(Endless) && s.x.config.Token.Mean == 0 {
		return s.wait(Delay{Mean: endlessPause})
	}
	if len(s.buf) > flushBytes {
		s.flush()
	}
	return s.wait(s.x.config.Token)
}

func (s *stream) ends() bool { return !s.over && !s.r.conduct.has(NoEnd) }

// snap breaks the answer, and reports whether it continues.
func (s *stream) snap() bool {
	strike := s.strike
	s.strike = ""
	switch strike {
	case BadFrame:
		s.buf = append(s.buf, s.x.dialect.garbage...)
		return true
	case OverloadedMidway:
		s.buf = append(s.buf, s.x.dialect.inband(failure{kind: overloaded, model: s.r.model})...)
	}
	s.flush()
	s.over = true
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

// wait flushes and waits, and reports whether the client remains.
func (s *stream) wait(d Delay) bool {
	for range s.slow {
		if s.over {
			return false
		}
		if t := d.draw(s.r.rng); t > 0 {
			s.flush()
			s.over = s.over || !sleep(s.x.r.Context(), t)
		}
	}
	return !s.over
}

// sleep waits, and reports whether ctx lasted.
func sleep(ctx context.Context, d time.Duration) bool {
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
	if len(s.buf) == 0 || s.over {
		return
	}
	_, err := s.x.w.Write(s.buf)
	if err == nil {
		err = s.flusher.Flush()
	}
	s.buf = s.buf[:0]
	s.over = err != nil
}

func (s *stream) whole(a *ask) {
	if !s.wait(s.r.first) {
		return
	}
	body := s.x.dialect.whole(a, s.r)
	n := s.r.output()
	if c := s.x.config.Chunks; c > 0 {
		n = min(n, c)
	}
	if s.x.config.Token.Mean > 0 {
		for range n {
			if !s.wait(s.x.config.Token) {
				return
			}
		}
	}
	switch s.strike {
	case "":
		s.x.send(http.StatusOK, "application/json", body)
		s.x.rec.Output, s.x.rec.Whole = s.r.output(), true
	case OverloadedMidway:
		s.x.fail(failure{kind: overloaded})
	case BadFrame:
		s.x.send(http.StatusOK, "application/json", []byte(mimic.Mangle(3, string(body[:len(body)/2]))))
	case Cut:
		s.x.send(http.StatusOK, "application/json", body[:len(body)/2])
	default:
		s.half(body)
	}
}

// half sends half of a body, then breaks.
func (s *stream) half(body []byte) {
	s.x.w.Header().Set("Content-Type", "application/json")
	s.buf = append(s.buf, body[:len(body)/2]...)
	s.snap()
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

// pieces yields up to chunks pieces of whole tokens, or tokens if chunks is 0. endless
// repeats them.
func pieces(s string, chunks int, endless bool) iter.Seq[string] {
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

func quote(b []byte, s string) []byte {
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
