package responses

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/compat/protocoltest"
	"ponder/internal/limitio"
)

// newLimitedRig returns a rig whose token may send perMinute requests, with memory for messages.
func newLimitedRig(t *testing.T, perMinute int, memory *limitio.Memory) *protocoltest.Rig {
	t.Helper()
	now := time.Unix(0, 0) // so that no request is added
	guard := auth.New(auth.Config{Now: func() time.Time { return now }, Tokens: []auth.Token{
		{Name: "local", Owner: protocoltest.Owner, Scopes: auth.Scopes(), Hash: auth.HashOf(protocoltest.Mine), PerMinute: perMinute},
	}})
	return protocoltest.New(t, protocoltest.Options{Model: protocoltest.FixedModel("yes"), Routes: func(d *compat.Dispatcher) map[string]http.Handler {
		routes := New(d, nil)
		for pattern, h := range routes {
			routes[pattern] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				caller, refused := guard.Check(r)
				if refused != nil {
					http.Error(w, refused.Detail, refused.Status)
					return
				}
				h.ServeHTTP(w, r.WithContext(limitio.WithMemory(auth.WithCaller(r.Context(), caller), memory)))
			})
		}
		return routes
	}})
}

// TestSocketRate checks that each message of a WebSocket counts for the rate of its token.
func TestSocketRate(t *testing.T) {
	const perMinute = 6
	c := dialSocket(t, newLimitedRig(t, perMinute, nil)) // the handshake is the first request
	for i := range perMinute + 2 {
		c.sendText(`{"type":"other"}`)
		e, js := c.nextMessage()
		want := float64(http.StatusBadRequest)
		if i >= perMinute-1 {
			want = http.StatusTooManyRequests
		}
		if e["status"] != want {
			t.Errorf("message %d: %s", i+1, js)
		}
	}
}

// TestSocketMessages checks that messages have the limits of bodies, and that the connection remains usable.
func TestSocketMessages(t *testing.T) {
	c := dialSocket(t, newLimitedRig(t, 0, limitio.NewMemory(1<<20)))
	for name, test := range map[string]struct {
		text   string
		status float64
		why    string
	}{
		"many values": {`{"type":"response.create","input":[` + strings.Repeat("[],", 20_000) + "0]}", http.StatusBadRequest, "too many values"},
		"depth":       {strings.Repeat("[", 1000), http.StatusBadRequest, "levels deep"},
		"large":       {`{"type":"response.create","input":"` + strings.Repeat("x", 1<<20) + `"}`, http.StatusServiceUnavailable, "later"},
		"small":       {`{"type":"other"}`, http.StatusBadRequest, "type"},
	} {
		c.sendText("%s", test.text)
		if e, js := c.nextMessage(); e["status"] != test.status || !strings.Contains(string(js), test.why) {
			t.Errorf("%s: %s", name, js)
		}
	}
	c.sendText(`{"type":"response.create","model":"ponder/chat","store":false,"input":"one"}`)
	if got := textIn(c.readResponse(ignore), ""); got != "yes" {
		t.Errorf("afterwards: %q", got)
	}
}
