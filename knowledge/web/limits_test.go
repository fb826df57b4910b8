package web

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
)

// startRawServer runs a server that reads the headers and calls talk. The end of the test closes
// its connections.
func startRawServer(t *testing.T, talk func(c net.Conn)) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { close(done); l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				go func() { <-done; c.Close() }()
				if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
					talk(c)
				}
			}()
		}
	}()
	return "http://" + l.Addr().String() + "/"
}

const okay = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"

func discardInput(c net.Conn) { io.Copy(io.Discard, c) }

// repeatPiece repeats piece until the peer closes.
func repeatPiece(c net.Conn, piece string) {
	for {
		if _, err := io.WriteString(c, piece); err != nil {
			return
		}
		runtime.Gosched()
	}
}

func smallLimits(l *limits) { l.bytes, l.headerBytes = 64<<10, 16<<10 }

func shortTimeouts(l *limits) {
	smallLimits(l)
	l.headers, l.idle, l.total = 200*time.Millisecond, 200*time.Millisecond, 600*time.Millisecond
}

func TestHostileServers(t *testing.T) {
	for name, c := range map[string]struct {
		talk func(net.Conn)
		want error
	}{
		"says nothing":          {discardInput, ErrTimeout},
		"hangs up":              {func(net.Conn) {}, nil},
		"stops in the status":   {func(c net.Conn) { io.WriteString(c, "HTTP/1.1 2"); discardInput(c) }, ErrTimeout},
		"stops in the headers":  {func(c net.Conn) { io.WriteString(c, okay); discardInput(c) }, ErrTimeout},
		"stops before the body": {func(c net.Conn) { io.WriteString(c, okay+"\r\n"); discardInput(c) }, ErrTimeout},
		"stops in the body":     {func(c net.Conn) { io.WriteString(c, okay+"\r\nabc"); discardInput(c) }, ErrTimeout},
		"stops in a chunk": {func(c net.Conn) {
			io.WriteString(c, okay+"Transfer-Encoding: chunked\r\n\r\n5\r\nabc")
			discardInput(c)
		}, ErrTimeout},
		"headers a letter a time": {func(c net.Conn) { writeSlowly(c, okay+"X: "+strings.Repeat("x", 10_000)) }, ErrTimeout},
		"body a letter a time":    {func(c net.Conn) { io.WriteString(c, okay+"\r\n"); writeSlowly(c, strings.Repeat("x", 10_000)) }, ErrTimeout},
		"headers without end":     {func(c net.Conn) { io.WriteString(c, okay); repeatPiece(c, "X-A: b\r\n") }, nil},
		"a header without end":    {func(c net.Conn) { io.WriteString(c, okay+"X: "); repeatPiece(c, "xxxxxxxxxxxxxxxx") }, nil},
		"100,000 headers":         {func(c net.Conn) { io.WriteString(c, okay+strings.Repeat("a:b\r\n", 100_000)+"\r\nx") }, nil},
		"a status without end":    {func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 "); repeatPiece(c, "xxxxxxxxxxxxxxxx") }, nil},
		"continues without end":   {func(c net.Conn) { repeatPiece(c, "HTTP/1.1 100 Continue\r\n\r\n") }, nil},
		"early hints without end": {func(c net.Conn) { repeatPiece(c, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n") }, nil},
		"switches protocols": {func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
			discardInput(c)
		}, nil},
		"not HTTP":                  {func(c net.Conn) { io.WriteString(c, "SSH-2.0-OpenSSH\r\n"); discardInput(c) }, nil},
		"noise":                     {func(c net.Conn) { repeatPiece(c, "\x00\xff\x1b[31m\r") }, nil},
		"shorter than it says":      {func(c net.Conn) { io.WriteString(c, okay+"Content-Length: 100\r\n\r\nabc") }, ErrBody},
		"shorter, open":             {func(c net.Conn) { io.WriteString(c, okay+"Content-Length: 100\r\n\r\nabc"); discardInput(c) }, ErrTimeout},
		"lengths that differ":       {func(c net.Conn) { io.WriteString(c, okay+"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd") }, nil},
		"a length below nothing":    {func(c net.Conn) { io.WriteString(c, okay+"Content-Length: -3\r\n\r\nabcd") }, nil},
		"a length beyond counting":  {func(c net.Conn) { io.WriteString(c, okay+"Content-Length: 99999999999999999999\r\n\r\nabcd") }, nil},
		"chunks that are no chunks": {func(c net.Conn) { io.WriteString(c, okay+"Transfer-Encoding: chunked\r\n\r\nzz\r\nabc") }, ErrBody},
		"a chunk size without end":  {func(c net.Conn) { io.WriteString(c, okay+"Transfer-Encoding: chunked\r\n\r\n"); repeatPiece(c, "0") }, ErrBody},
		"chunk extensions": {func(c net.Conn) {
			io.WriteString(c, okay+"Transfer-Encoding: chunked\r\n\r\n")
			repeatPiece(c, "1;xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\nx\r\n")
		}, ErrBody},
		"trailers without end": {func(c net.Conn) {
			io.WriteString(c, okay+"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n")
			repeatPiece(c, "A: b\r\n")
		}, ErrBody},
		"brotli":               {func(c net.Conn) { io.WriteString(c, okay+"Content-Encoding: br\r\n\r\nxxxx") }, ErrBody},
		"packed three times":   {func(c net.Conn) { io.WriteString(c, okay+"Content-Encoding: gzip, gzip, deflate\r\n\r\nxxxx") }, ErrBody},
		"packed without end":   {func(c net.Conn) { io.WriteString(c, okay+"Content-Encoding: "); repeatPiece(c, "gzip,") }, nil},
		"gzip that is none":    {func(c net.Conn) { io.WriteString(c, okay+"Content-Encoding: gzip\r\n\r\nnot gzip at all") }, ErrBody},
		"deflate that is none": {func(c net.Conn) { io.WriteString(c, okay+"Content-Encoding: deflate\r\n\r\nnot deflate at all") }, ErrBody},
		"gzip, stops": {func(c net.Conn) {
			c.Write([]byte(okay + "Content-Encoding: gzip\r\n\r\n\x1f\x8b\x08"))
			discardInput(c)
		}, ErrTimeout},
		"gzip, half": {func(c net.Conn) {
			w := gzipBytes("a text")
			c.Write(append([]byte(okay+"Content-Encoding: gzip\r\n\r\n"), w[:len(w)-9]...))
		}, ErrBody},
		"gzip, wrong sum": {func(c net.Conn) {
			w := gzipBytes("a text")
			w[len(w)-5] ^= 1
			c.Write(append([]byte(okay+"Content-Encoding: gzip\r\n\r\n"), w...))
		}, ErrBody},
		"gzip name without end": {func(c net.Conn) {
			c.Write([]byte(okay + "Content-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\x00"))
			repeatPiece(c, "name")
		}, ErrBody},
		"a location without end": {func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 302 Found\r\nLocation: /"+strings.Repeat("x", 15<<10)+"\r\n\r\n")
		}, ErrURL},
		"cookies without end": {func(c net.Conn) { io.WriteString(c, okay+strings.Repeat("Set-Cookie: a=b\r\n", 10_000)+"\r\n") }, nil},
		"a type with lines":   {func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: image/\x1b[31m\r\n\r\nx") }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := startRawServer(t, c.talk)
			bounds := smallLimits
			if errors.Is(c.want, ErrTimeout) {
				bounds = shortTimeouts
			}
			f := newTestFetcher(t, Options{Allow: []string{"127.0.0.1"}, IgnoreRobots: true}, bounds)
			began := time.Now()
			_, err := f.Fetch(t.Context(), url)
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("%v, not %v", err, c.want)
			}
			if err != nil && strings.ContainsAny(err.Error(), "\r\n\x00\x1b") || err != nil && len(err.Error()) > 700 {
				t.Errorf("an error that is no line: %q", err)
			}
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// writeSlowly writes bytes just within the idle limit.
func writeSlowly(c net.Conn, s string) {
	for i := range len(s) {
		<-time.After(50 * time.Millisecond)
		if _, err := c.Write([]byte{s[i]}); err != nil {
			return
		}
	}
}

func gzipBytes(s string) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	io.WriteString(w, s)
	w.Close()
	return b.Bytes()
}

// packZeros returns n zeros after the codings in order.
func packZeros(n int, codings ...string) []byte {
	data := make([]byte, n)
	for _, c := range codings {
		var b bytes.Buffer
		var w io.WriteCloser
		switch c {
		case "gzip":
			w, _ = gzip.NewWriterLevel(&b, gzip.BestSpeed)
		case "zlib":
			w, _ = zlib.NewWriterLevel(&b, zlib.BestSpeed)
		default:
			w, _ = flate.NewWriter(&b, flate.BestSpeed)
		}
		w.Write(data)
		w.Close()
		data = b.Bytes()
	}
	return data
}

func TestBombs(t *testing.T) {
	empties := bytes.Repeat(gzipBytes(""), 1<<18/len(gzipBytes("")))
	for name, c := range map[string]struct {
		coding, kind string
		body         []byte
		want         error
	}{
		"gzip":                 {"gzip", "text/html", packZeros(8<<20, "gzip"), ErrTooBig},
		"zlib":                 {"deflate", "text/html", packZeros(8<<20, "zlib"), ErrTooBig},
		"raw deflate":          {"deflate", "text/html", packZeros(8<<20, "flate"), ErrTooBig},
		"PDF":                  {"gzip", "application/pdf", packZeros(8<<20, "gzip"), ErrTooBig},
		"gzip of gzip":         {"gzip, gzip", "text/html", packZeros(8<<20, "gzip", "gzip"), ErrTooBig},
		"gzip of deflate":      {"deflate, gzip", "text/html", packZeros(8<<20, "zlib", "gzip"), ErrTooBig},
		"nothing, many times":  {"gzip", "text/html", empties, nil},
		"packed nothing, long": {"gzip, gzip", "text/html", gzipBytes(string(bytes.Repeat(empties, 20))), ErrBody},
	} {
		t.Run(name, func(t *testing.T) {
			s := startSite(t, "127.0.0.1:0", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.kind)
				w.Header().Set("Content-Encoding", c.coding)
				w.Write(c.body)
			})
			f := newTestFetcher(t, Options{Allow: []string{"127.0.0.1"}, IgnoreRobots: true, MaxBytes: 1 << 20})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			_, err := f.Fetch(t.Context(), s.URL)
			took := time.Since(began)
			runtime.ReadMemStats(&after)
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Error(err)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > 24<<20 {
				t.Errorf("%d MiB were allocated", got>>20)
			}
			if took > 30*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestEndlessBodies(t *testing.T) {
	for name, c := range map[string]struct {
		kind, coding string
		want         error // nil: truncated
	}{
		"text":   {"text/plain", "", nil},
		"HTML":   {"text/html", "", nil},
		"PDF":    {"application/pdf", "", ErrTooBig},
		"binary": {"application/octet-stream", "", ErrTooBig},
		"image":  {"image/png", "", ErrType},
		"video":  {"video/mp4", "", ErrType},
		"packed": {"text/plain", "gzip", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := startSite(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", c.kind)
				var to io.Writer = w
				if c.coding != "" {
					w.Header().Set("Content-Encoding", c.coding)
					to = gzip.NewWriter(w)
				}
				for i := 0; ; i++ {
					if _, err := fmt.Fprintf(to, "line %d of a text that does not end, %x\n", i, i*i*7919); err != nil {
						return
					}
				}
			})
			f := newTestFetcher(t, Options{Allow: []string{"127.0.0.1"}, IgnoreRobots: true, MaxBytes: 256 << 10})
			page, err := f.Fetch(t.Context(), s.URL)
			if c.want != nil {
				if !errors.Is(err, c.want) {
					t.Error(err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !page.Truncated || page.Bytes != 256<<10 || !strings.HasPrefix(page.Markdown, "line 0 of") {
				t.Errorf("%d bytes, truncated: %v", page.Bytes, page.Truncated)
			}
		})
	}
}

func TestLongerThanItSays(t *testing.T) {
	url := startRawServer(t, func(c net.Conn) { io.WriteString(c, okay+"Content-Length: 3\r\n\r\nabcdefgh"); discardInput(c) })
	f := newTestFetcher(t, Options{Allow: []string{"127.0.0.1"}, IgnoreRobots: true}, smallLimits)
	if p, err := f.Fetch(t.Context(), url); err != nil || p.Markdown != "abc" {
		t.Error(err)
	}
}

func TestTooBigAsItSays(t *testing.T) {
	url := startRawServer(t, func(c net.Conn) {
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\nContent-Length: 99999999999\r\n\r\n")
		discardInput(c)
	})
	f := newTestFetcher(t, Options{Allow: []string{"127.0.0.1"}, IgnoreRobots: true})
	if _, err := f.Fetch(t.Context(), url); !errors.Is(err, ErrTooBig) {
		t.Error(err)
	}
}

func TestRedirectsWithoutEnd(t *testing.T) {
	s := startSite(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		to := r.URL.Path
		if strings.HasPrefix(to, "/longer") {
			to += "x"
		}
		http.Redirect(w, r, to, http.StatusMovedPermanently)
	})
	f := newTestFetcher(t, Options{Allow: []string{"127.0.0.1"}, IgnoreRobots: true})
	for _, path := range []string{"/same", "/longer"} {
		before := s.requestCount("/same")
		if _, err := f.Fetch(t.Context(), s.URL+path); !errors.Is(err, ErrTooManyRedirects) {
			t.Errorf("%s: %v", path, err)
		}
		if n := s.requestCount("/same") - before; n > 11 {
			t.Errorf("%s: asked %d times", path, n)
		}
	}
}

// TestSlowRedirects bounds the total time.
func TestSlowRedirects(t *testing.T) {
	url := startRawServer(t, func(c net.Conn) {
		<-time.After(150 * time.Millisecond)
		io.WriteString(c, "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	})
	f := newTestFetcher(t, Options{Allow: []string{"127.0.0.1"}, IgnoreRobots: true}, shortTimeouts)
	began := time.Now()
	if _, err := f.Fetch(t.Context(), url); !errors.Is(err, ErrTimeout) {
		t.Error(err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestCallerGivesUp(t *testing.T) {
	asked := make(chan struct{})
	url := startRawServer(t, func(c net.Conn) { close(asked); discardInput(c) })
	f := newTestFetcher(t, Options{Allow: []string{"127.0.0.1"}, IgnoreRobots: true})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	if _, err := f.Fetch(ctx, url); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
