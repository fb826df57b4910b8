package auth

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestFindPeer(t *testing.T) {
	const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	line := func(local, remote string, uid, inode int) string {
		return fmt.Sprintf("   1: %s %s 01 00000000:00000000 00:00000000 00000000 %5d        0 %d 1 0000000000000000 20 4 30 10 -1\n", local, remote, uid, inode)
	}
	server, client := "0100007F:2238", "0100007F:9C40" // 127.0.0.1:8760 and :40000
	mapped := func(s string) string { return "0000000000000000FFFF0000" + s }
	six := func(port string) string { return "00000000000000000000000001000000:" + port }
	ours := line(server, client, 0, 7)
	for name, test := range map[string]struct {
		local, remote string
		table         string
		want          peer
	}{
		"a user":               {"127.0.0.1:8760", "127.0.0.1:40000", ours + line(client, server, 1000, 8), 1000},
		"the superuser":        {"127.0.0.1:8760", "127.0.0.1:40000", ours + line(client, server, 0, 8), 0},
		"ended":                {"127.0.0.1:8760", "127.0.0.1:40000", ours + line(client, server, 0, 0), gonePeer},
		"gone":                 {"127.0.0.1:8760", "127.0.0.1:40000", ours, gonePeer},
		"an empty table":       {"127.0.0.1:8760", "127.0.0.1:40000", "", unknownPeer},
		"another namespace":    {"127.0.0.1:8760", "127.0.0.1:40000", line(client, server, 1000, 8), unknownPeer},
		"the port to another":  {"127.0.0.1:8760", "127.0.0.1:40000", ours + line(client, "0100007F:0050", 1000, 8), gonePeer},
		"another port":         {"127.0.0.1:8760", "127.0.0.1:40000", ours + line("0100007F:9C41", server, 1000, 8), gonePeer},
		"mapped on both sides": {"[::ffff:127.0.0.1]:8760", "[::ffff:127.0.0.1]:40000", line(mapped(server), mapped(client), 0, 7) + line(client, server, 1001, 8), 1001},
		"version 6":            {"[::1]:8760", "[::1]:40000", line(six("2238"), six("9C40"), 0, 7) + line(six("9C40"), six("2238"), 1002, 8), 1002},
		"not a table":          {"127.0.0.1:8760", "127.0.0.1:40000", "a b c d e f g h i j k\n" + strings.Repeat("x", 100) + "\n", unknownPeer},
	} {
		if got := findPeer(netip.MustParseAddrPort(test.local), netip.MustParseAddrPort(test.remote), strings.NewReader(head+test.table)); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

func FuzzParseSocket(f *testing.F) {
	f.Add("0100007F:2238")
	f.Add("00000000000000000000000001000000:0050")
	f.Fuzz(func(_ *testing.T, text string) { parseSocket(text) })
}

func TestOtherUser(t *testing.T) {
	g, withTokens := New(Config{Owner: "local", Local: "the secret"}), New(Config{Tokens: []Token{{Name: "a", Owner: "a", Scopes: Scopes(), Hash: HashOf("token")}}})
	for name, test := range map[string]struct {
		guard  *Guard
		user   peer
		secret string
		status int
	}{
		"own user":             {g, peer(os.Getuid()), "", 0},
		"superuser":            {g, 0, "", 0},
		"unknown":              {g, unknownPeer, "", 0},
		"other user":           {g, peer(os.Getuid() + 1), "", http.StatusForbidden},
		"other, wrong secret":  {g, peer(os.Getuid() + 1), "wrong", http.StatusForbidden},
		"other, with secret":   {g, peer(os.Getuid() + 1), "the secret", 0},
		"gone":                 {g, gonePeer, "", http.StatusForbidden},
		"other, with a token":  {withTokens, peer(os.Getuid() + 1), "token", 0},
		"other, without token": {withTokens, peer(os.Getuid() + 1), "", http.StatusUnauthorized},
	} {
		r := httptest.NewRequestWithContext(context.WithValue(t.Context(), peerKey{}, func() peer { return test.user }), http.MethodGet, "http://127.0.0.1/api/threads", nil)
		if test.secret != "" {
			r.Header.Set("Authorization", "Bearer "+test.secret)
		}
		status := 0
		if _, refused := test.guard.Check(r); refused != nil {
			status = refused.Status
		}
		if status != test.status {
			t.Errorf("%s: %d, want %d", name, status, test.status)
		}
	}
}

// peerURL is the address for [TestPeerClient].
const peerURL = "PONDER_TEST_PEER_URL"

// TestPeerClient is the client of TestPeer as another user.
func TestPeerClient(t *testing.T) {
	address := os.Getenv(peerURL)
	if address == "" {
		return
	}
	resp, err := http.Get(address) //nolint:noctx // a helper process
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Fatalf("status %d", resp.StatusCode)
	}
}

// TestPeer asks a real server as this user, and, where this user may become another, as that one.
func TestPeer(t *testing.T) {
	g := New(Config{Owner: "local"})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, refused := g.Check(r); refused != nil {
			w.WriteHeader(refused.Status)
		}
	})
	for _, network := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", network)
		if err != nil {
			t.Logf("%s: %v", network, err) // without IPv6
			continue
		}
		s := httptest.NewUnstartedServer(handler)
		s.Listener.Close()
		s.Listener, s.Config.ConnContext = l, WithPeer
		s.Start()
		defer s.Close()
		resp, err := s.Client().Get(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d for the own user", network, resp.StatusCode)
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPeerClient$") //nolint:gosec // this program
		cmd.Env = append(os.Environ(), peerURL+"="+s.URL)
		if !becomeOther(t, cmd) {
			continue
		}
		cmd.Dir = "/"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s as another user: %v %s", network, err, out)
		}
	}
}
