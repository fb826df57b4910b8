package responses

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ponder/internal/compat/protocoltest"
	"ponder/internal/netaddr"
	"ponder/internal/webhook"
)

type memoryRecords struct {
	mu   sync.Mutex
	list map[[3]string][]byte
}

func newMemoryRecords() *memoryRecords { return &memoryRecords{list: make(map[[3]string][]byte)} }

func (b *memoryRecords) Put(_ context.Context, kind, owner, id string, js []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list[[3]string{kind, owner, id}] = js
	return nil
}

func (b *memoryRecords) Drop(_ context.Context, kind, owner, id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.list, [3]string{kind, owner, id})
	return nil
}

func (b *memoryRecords) Records(_ context.Context, kind, owner string) (list []Record, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for k, js := range b.list {
		if k[0] == kind && (owner == "" || k[1] == owner) {
			list = append(list, Record{Owner: k[1], ID: k[2], JSON: js})
		}
	}
	slices.SortFunc(list, func(x, y Record) int { return strings.Compare(x.ID, y.ID) })
	return list, nil
}

type receiver struct {
	mu     sync.Mutex
	status func(n int) int
	got    []*http.Request
	bodies []string
	at     []time.Time
}

func (r *receiver) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got, r.bodies, r.at = append(r.got, req), append(r.bodies, string(body)), append(r.at, time.Now())
	return &http.Response{StatusCode: r.status(len(r.got) - 1), Body: http.NoBody, Header: http.Header{"Location": {"http://10.0.0.1/"}}}, err
}

const hookBodyText = `{"name":"mine","url":"https://a.test/hook","event_types":["response.completed","response.cancelled","response.failed"]}`

func hookOf(t *testing.T, r *protocoltest.Rig) map[string]any {
	t.Helper()
	w := r.Post("/v1/webhook_endpoints", hookBodyText)
	var e map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != http.StatusOK || !strings.HasPrefix(fmt.Sprint(e["signing_secret"]), "whsec_") {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return e
}

// Failed deliveries repeat unchanged with growing delays, across restarts.
func TestHookRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newMemoryRecords()
		to := &receiver{status: func(n int) int { return []int{http.StatusFound, 500, 500, http.StatusNoContent}[n] }}
		hooks := &Hooks{Records: b, Client: &http.Client{Transport: to}}
		r := newRig(t, protocoltest.Options{Model: protocoltest.FixedModel("deep")}, hooks)
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- hooks.Run(ctx) }()
		synctest.Wait()
		e := hookOf(t, r)
		id := startBackground(t, r, ways[0].body)
		time.Sleep(time.Minute)
		stop()
		if err := <-ended; err != nil || len(to.got) != 2 {
			t.Fatalf("%v, %d were sent", err, len(to.got))
		}
		next := &Hooks{Records: b, Client: &http.Client{Transport: to}, api: hooks.api}
		ctx, stop = context.WithCancel(context.Background())
		go func() { ended <- next.Run(ctx) }()
		time.Sleep(24 * time.Hour)
		stop()
		if err := <-ended; err != nil || len(to.got) != 4 {
			t.Fatalf("%v, %d were sent", err, len(to.got))
		}
		var ev hookEvent
		if err := json.Unmarshal([]byte(to.bodies[0]), &ev); err != nil || ev.Type != "response.completed" || ev.Data.ID != id || ev.Object != "event" {
			t.Errorf("told %s", to.bodies[0])
		}
		secret := endpoint{Secret: e["signing_secret"].(string)}
		for i, req := range to.got {
			h := req.Header
			if h.Get("Webhook-Id") != ev.ID || to.bodies[i] != to.bodies[0] || h.Get("Webhook-Timestamp") != fmt.Sprint(to.at[i].Unix()) ||
				h.Get("Webhook-Signature") != webhook.Sign(secret.signingKeys(time.Now()), ev.ID, h.Get("Webhook-Timestamp"), []byte(to.bodies[i])) {
				t.Errorf("try %d: %v", i, h)
			}
		}
		if left, _ := b.Records(context.Background(), deliveryKind, ""); len(left) != 0 {
			t.Errorf("%d deliveries are left", len(left))
		}
	})
}

// After a restart, the server announces responses of its predecessor.
func TestHookRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newMemoryRecords()
		to := &receiver{status: func(int) int { return http.StatusOK }}
		hooks := &Hooks{Records: b, Client: &http.Client{Transport: to}}
		r := newRig(t, protocoltest.Options{Model: protocoltest.FixedModel("deep")}, hooks)
		hookOf(t, r)
		startBackground(t, r, ways[0].body)
		startBackground(t, r, ways[1].body)
		time.Sleep(time.Minute)
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- hooks.Run(ctx) }()
		time.Sleep(time.Minute)
		stop()
		if err := <-ended; err != nil || len(to.got) != 2 || len(b.list) != 1 {
			t.Errorf("%v, %d were sent, %d records are left", err, len(to.got), len(b.list))
		}
	})
}

func TestEndpoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &receiver{status: func(int) int { return http.StatusTeapot }}
		r := newRig(t, protocoltest.Options{}, &Hooks{Records: newMemoryRecords(), Client: &http.Client{Transport: to}})
		for _, url := range []string{"http://a.test/", "ftp://a.test", "https://", "", "https://u:p@a.test", "http://10.0.0.1/", "http://127.0.0.1.a.test/", "file:///etc"} {
			w := r.Post("/v1/webhook_endpoints", strings.Replace(hookBodyText, "https://a.test/hook", url, 1))
			checkRefusal(t, w.Code, w.Body.String(), http.StatusBadRequest, "url")
		}
		e := hookOf(t, r)
		path := "/v1/webhook_endpoints/" + e["id"].(string)
		w := r.Post(path, `{"name":"new"}`)
		if !strings.Contains(w.Body.String(), `"name":"new"`) || strings.Contains(w.Body.String(), "signing_secret\"") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		if w = r.Get("/v1/webhook_endpoints"); strings.Contains(w.Body.String(), "signing_secret\"") || !strings.Contains(w.Body.String(), e["id"].(string)) {
			t.Errorf("%s", w.Body)
		}
		w = r.Post(path+"/rotate_secret", `{"keep_old_secret_active_for_24_hours":true}`)
		if w.Code != http.StatusOK || strings.Contains(w.Body.String(), e["signing_secret"].(string)) {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		w = r.Post(path+"/test", `{"event_type":"response.completed"}`)
		if !strings.Contains(w.Body.String(), `"status_code":418`) || len(strings.Fields(to.got[0].Header.Get("Webhook-Signature"))) != 2 {
			t.Errorf("%s %v", w.Body, to.got[0].Header)
		}
		other := protocoltest.Request(context.Background(), http.MethodDelete, path, "")
		other.Header.Set("Authorization", "Bearer "+protocoltest.Hers)
		w = r.Do(other)
		checkRefusal(t, w.Code, w.Body.String(), http.StatusNotFound, "")
		if w = r.Do(protocoltest.Request(context.Background(), http.MethodDelete, path, "")); w.Code != http.StatusOK {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		w = r.Get(path)
		checkRefusal(t, w.Code, w.Body.String(), http.StatusNotFound, "")
	})
}

// TestPrivateEndpoints checks that a token cannot reach private servers, nor learn which ports are open.
func TestPrivateEndpoints(t *testing.T) {
	reached := 0
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { reached++ }))
	defer inside.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(inside.URL, "http://"), ":")
	r := newRig(t, protocoltest.Options{}, &Hooks{Records: newMemoryRecords()})
	for _, url := range []string{"http://localhost:" + port, inside.URL, "https://127.0.0.1/", "https://[::ffff:10.0.0.1]/", "https://2130706433/", "https://[64:ff9b::7f00:1]/", "https://[fe80::1%25lo]/"} {
		w := r.Post("/v1/webhook_endpoints", strings.Replace(hookBodyText, "https://a.test/hook", url, 1))
		checkRefusal(t, w.Code, w.Body.String(), http.StatusBadRequest, "url")
	}
	answers := make(map[string]bool)
	for _, at := range []string{"localhost:" + port, "localhost:1", "localhost.:" + port, "no-such-host.invalid:443", "none.localhost:9"} {
		w := r.Post("/v1/webhook_endpoints", strings.Replace(hookBodyText, "https://a.test/hook", "https://"+at+"/", 1))
		if w.Code != http.StatusOK {
			continue // a name that is never public
		}
		var e struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		w = r.Post("/v1/webhook_endpoints/"+e.ID+"/test", `{"event_type":"response.completed"}`)
		checkRefusal(t, w.Code, w.Body.String(), http.StatusBadRequest, "url")
		answers[w.Body.String()] = true
	}
	if len(answers) != 1 || reached > 0 {
		t.Errorf("%d requests reached the server; answers: %v", reached, answers)
	}
}

// TestAllowedEndpoint checks that the configuration can allow a private server.
func TestAllowedEndpoint(t *testing.T) {
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	defer inside.Close()
	guard, err := netaddr.NewGuard([]string{strings.TrimPrefix(inside.URL, "http://")})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, protocoltest.Options{}, &Hooks{Records: newMemoryRecords(), Client: webhook.NewClient(guard), Guard: guard})
	w := r.Post("/v1/webhook_endpoints", strings.Replace(hookBodyText, "https://a.test/hook", inside.URL+"/hook", 1))
	var e struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil {
		t.Fatal(err)
	}
	if w = r.Post("/v1/webhook_endpoints/"+e.ID+"/test", `{"event_type":"response.completed"}`); !strings.Contains(w.Body.String(), `"status_code":418`) {
		t.Errorf("%s", w.Body)
	}
}
