package web

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"ponder/knowledge/archive"
	"ponder/knowledge/web/extract"
	"ponder/store/sqlite"
)

// A site is a server that counts connections.
type site struct {
	*httptest.Server
	conns    atomic.Int64
	requests sync.Map // path to *atomic.Int64
}

func (s *site) Accept(l net.Listener) (net.Conn, error) {
	c, err := l.Accept()
	if err == nil {
		s.conns.Add(1)
	}
	return c, err
}

type countingListener struct {
	net.Listener
	s *site
}

func (c countingListener) Accept() (net.Conn, error) { return c.s.Accept(c.Listener) }

func startSite(t *testing.T, address string, h http.HandlerFunc) *site {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Skipf("cannot listen at %s: %v", address, err)
	}
	s := &site{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := s.requests.LoadOrStore(r.URL.Path, new(atomic.Int64))
		n.(*atomic.Int64).Add(1)
		h(w, r)
	}))
	s.Listener.Close()
	s.Listener = countingListener{l, s}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func (s *site) requestCount(path string) int64 {
	n, ok := s.requests.Load(path)
	if !ok {
		return 0
	}
	return n.(*atomic.Int64).Load()
}

func (s *site) port() string { return s.URL[strings.LastIndexByte(s.URL, ':')+1:] }

// verbatimContent returns the page as text.
func verbatimContent(page []byte, _ string) (extract.Content, error) {
	return extract.Content{Markdown: string(page)}, nil
}

func textHandler(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Write([]byte(s))
	}
}

// newTestFetcher returns a fetcher without delays, with changed limits.
func newTestFetcher(t *testing.T, o Options, change ...func(*limits)) *Fetcher {
	t.Helper()
	if o.HTML == nil {
		o.HTML = verbatimContent
	}
	if o.Delay == 0 {
		o.Delay = -1
	}
	f := New(o)
	for _, c := range change {
		c(&f.limits)
	}
	f.wire = f.newTransport()
	t.Cleanup(f.Close)
	return f
}

func newArchive(t *testing.T) *archive.Archive {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	a, err := archive.Open(t.Context(), store.SQL())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// A clock is set by hand.
type clock struct{ at atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.at.Store(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) Now() time.Time          { return time.Unix(0, c.at.Load()).UTC() }
func (c *clock) advance(d time.Duration) { c.at.Add(int64(d)) }

// dnsServer is a DNS server over UDP and TCP.
type dnsServer struct {
	t    *testing.T
	addr string // of both

	mu  sync.Mutex
	by  map[string]func(n int, tcp bool) []string // by name and number of queries
	n   map[string]int
	cut bool
}

// newResolver starts a DNS server and returns a client for it.
func newResolver(t *testing.T) (*dnsServer, *net.Resolver) {
	t.Helper()
	s := &dnsServer{t: t, by: map[string]func(int, bool) []string{}, n: map[string]int{}}
	lc := &net.ListenConfig{}
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p, err := lc.ListenPacket(t.Context(), "udp", l.Addr().String())
	if err != nil {
		t.Skip(err)
	}
	s.addr = l.Addr().String()
	t.Cleanup(func() { l.Close(); p.Close() })
	go s.serveUDP(p)
	go s.serveTCP(l)
	return s, &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, s.addr)
	}}
}

// setAddrs fixes the addresses of a name.
func (s *dnsServer) setAddrs(name string, addrs ...string) {
	s.setAnswers(name, func(int, bool) []string { return addrs })
}

// setAnswers sets the addresses by number of queries.
func (s *dnsServer) setAnswers(name string, f func(n int, tcp bool) []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.by[name+"."] = f
}

func (s *dnsServer) queryCount(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n[dnsmessage.TypeA.String()+" "+name+"."]
}

func (s *dnsServer) serveUDP(p net.PacketConn) {
	b := make([]byte, 4<<10)
	for {
		n, from, err := p.ReadFrom(b)
		if err != nil {
			return
		}
		p.WriteTo(s.answerQuery(b[:n], false), from)
	}
}

func (s *dnsServer) serveTCP(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			b := make([]byte, 4<<10)
			n, _ := c.Read(b)
			if n > 2 {
				out := s.answerQuery(b[2:n], true)
				c.Write(append([]byte{byte(len(out) >> 8), byte(len(out))}, out...))
			}
		}()
	}
}

func (s *dnsServer) answerQuery(query []byte, tcp bool) []byte {
	var q dnsmessage.Message
	if err := q.Unpack(query); err != nil || len(q.Questions) != 1 {
		return nil
	}
	q.Response, q.Authoritative, q.Additionals = true, true, nil
	name, kind := q.Questions[0].Name, q.Questions[0].Type
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cut && !tcp {
		q.Truncated = true
	} else if f := s.by[name.String()]; f == nil {
		q.RCode = dnsmessage.RCodeNameError
	} else {
		asked := kind.String() + " " + name.String()
		s.n[asked]++
		for _, a := range f(s.n[asked], tcp) {
			if r, ok := addressRecord(name, kind, netip.MustParseAddr(a)); ok {
				q.Answers = append(q.Answers, r)
			}
		}
	}
	out, err := q.Pack()
	if err != nil {
		s.t.Error(err)
	}
	return out
}

func addressRecord(name dnsmessage.Name, kind dnsmessage.Type, a netip.Addr) (dnsmessage.Resource, bool) {
	r := dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: name, Type: kind, Class: dnsmessage.ClassINET}}
	switch {
	case kind == dnsmessage.TypeA && a.Is4():
		r.Body = &dnsmessage.AResource{A: a.As4()}
	case kind == dnsmessage.TypeAAAA && a.Is6():
		r.Body = &dnsmessage.AAAAResource{AAAA: a.As16()}
	default:
		return r, false
	}
	return r, true
}

func serveTLS(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}
