package netaddr

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// rebind returns a resolver of which each query has the next answer, and the last one from then on.
func rebind(t *testing.T, answers ...string) *net.Resolver {
	t.Helper()
	asked := make(chan struct{}, 1)
	asked <- struct{}{}
	n := 0
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			answerQuery(server, func(kind dnsmessage.Type) net.IP {
				if kind != dnsmessage.TypeA {
					return nil
				}
				<-asked
				defer func() { asked <- struct{}{} }()
				a := answers[min(n, len(answers)-1)]
				n++
				return net.ParseIP(a)
			})
		}()
		return client, nil
	}}
}

// answerQuery answers a query over a stream, whose messages have a length of two bytes.
func answerQuery(conn net.Conn, of func(dnsmessage.Type) net.IP) {
	var head [2]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return
	}
	query := make([]byte, int(head[0])<<8|int(head[1]))
	if _, err := io.ReadFull(conn, query); err != nil {
		return
	}
	var m dnsmessage.Message
	if m.Unpack(query) != nil {
		return
	}
	m.Response = true
	m.Additionals = nil
	if ip := of(m.Questions[0].Type); ip != nil {
		m.Answers = append(m.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: m.Questions[0].Name, Class: dnsmessage.ClassINET, TTL: 0},
			Body:   &dnsmessage.AResource{A: [4]byte(ip.To4())},
		})
	}
	out, err := m.Pack()
	if err != nil {
		return
	}
	_, _ = conn.Write(append([]byte{byte(len(out) >> 8), byte(len(out))}, out...)) // the client may have left
}

// TestDialRebinding changes a name between the check and the connection, and between connections.
func TestDialRebinding(t *testing.T) {
	inside, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer inside.Close()
	_, port, _ := net.SplitHostPort(inside.Addr().String())
	accepted := make(chan struct{}, 10)
	go func() {
		for {
			c, err := inside.Accept()
			if err != nil {
				return
			}
			c.Close()
			accepted <- struct{}{}
		}
	}()
	r := rebind(t, "93.184.216.34", "127.0.0.1")
	const name = "rebind.example.org"
	first, err := r.LookupNetIP(t.Context(), "ip4", name) // a check before the connection passes
	if err != nil || len(first) != 1 || !isPublic(first[0]) {
		t.Fatalf("the first answer: %v %v", first, err)
	}
	var g Guard
	for range 3 {
		if conn, err := g.DialContext(t.Context(), time.Second, r, "tcp", name+":"+port); !errors.Is(err, ErrRefused) {
			t.Errorf("connected to %v: %v", conn, err)
		}
	}
	if len(accepted) > 0 {
		t.Error("a connection reached the private server")
	}
	allowed, err := NewGuard([]string{name + ":" + port})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := allowed.DialContext(t.Context(), time.Second, r, "tcp", name+":"+port)
	if err != nil {
		t.Fatalf("a name that the configuration allows: %v", err)
	}
	conn.Close()
	<-accepted
}

// TestRefusedPorts checks that errors of forbidden addresses do not tell whether a port is open.
func TestRefusedPorts(t *testing.T) {
	open, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	_, port, _ := net.SplitHostPort(open.Addr().String())
	seen := make(map[string]bool)
	for _, p := range []string{port, "1", "9", "65535"} {
		_, err := Guard{}.DialContext(t.Context(), time.Second, nil, "tcp", "127.0.0.1:"+p)
		var op *net.OpError
		if !errors.As(err, &op) || !errors.Is(err, ErrRefused) {
			t.Fatalf("port %s: %v", p, err)
		}
		seen[op.Err.Error()] = true
	}
	if len(seen) != 1 {
		t.Errorf("the errors differ: %v", seen)
	}
}

func TestAllowsHost(t *testing.T) {
	g, err := NewGuard([]string{"hooks.lan", "10.0.0.1:8080", "127.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]bool{
		"http://hooks.lan/": true, "https://HOOKS.lan.:9/x": true, "http://127.0.0.1:1/": true, "http://10.0.0.1:8080/": true,
		"http://10.0.0.1/": false, "http://other.lan/": false, "https://example.org/": false, "http://localhost/": false,
	} {
		u, err := g.ParseURL(address)
		if err != nil && want {
			t.Errorf("%s: %v", address, err)
		}
		if err == nil && g.AllowsHost(u) != want {
			t.Errorf("%s: %v", address, !want)
		}
	}
}
