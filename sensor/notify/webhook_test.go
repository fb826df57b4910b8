package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ponder/internal/webhook"
)

const (
	secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" // from the specification's example
)

var message = Message{
	ID: "esc_1", Title: "The disk is nearly full", Text: "The disk is nearly full: 97 %.", Importance: 8,
	Untrusted: true, Sources: []string{"/var"}, At: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC),
}

// verifySignature checks a request by the specification: the signature covers id, time and body, joined by
// dots, and one of the version 1 signatures must match.
func verifySignature(secret string, r *http.Request, body []byte, now time.Time) error {
	id, at := r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return err
	}
	if d := now.Sub(time.Unix(seconds, 0)); d > 5*time.Minute || d < -5*time.Minute {
		return errors.New("too old or too new")
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return err
	}
	mac := hmac.New(sha256.New, key)
	io.WriteString(mac, id+"."+at+"."+string(body))
	for sig := range strings.SplitSeq(r.Header.Get("webhook-signature"), " ") {
		version, text, _ := strings.Cut(sig, ",")
		got, err := base64.StdEncoding.DecodeString(text)
		if version == "v1" && err == nil && hmac.Equal(got, mac.Sum(nil)) {
			return nil
		}
	}
	return errors.New("no signature fits")
}

// TestSignature checks the example in the specification.
func TestSignature(t *testing.T) {
	keys, err := parseKeys(secret)
	if err != nil {
		t.Fatal(err)
	}
	got := webhook.Sign(keys, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("signature is %s, want %s", got, want)
	}
}

// A receiver is a server that records requests.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	ids    []string
	bodies []string
}

func newReceiver(t *testing.T, secrets ...string) *receiver {
	r := &receiver{status: http.StatusNoContent}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		for _, s := range secrets {
			if err := verifySignature(s, req, body, time.Now()); err != nil {
				t.Errorf("verify: %v", err)
			}
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.ids, r.bodies = append(r.ids, req.Header.Get("webhook-id")), append(r.bodies, string(body))
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(r.status)
	}))
	t.Cleanup(r.Close)
	return r
}

func TestWebhook(t *testing.T) {
	other := "whsec_" + base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef"))
	r := newReceiver(t, secret, other)
	ch, err := Webhook(WebhookOptions{URL: r.URL + "/hook", Secret: secret + " " + other})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := ch.Send(t.Context(), message); err != nil {
			t.Fatal(err)
		}
	}
	if ch.Name != "webhook" || r.ids[0] != "esc_1" || r.ids[1] != "esc_1" || r.bodies[0] != r.bodies[1] {
		t.Errorf("%s sent %q %q", ch.Name, r.ids, r.bodies)
	}
	var got struct {
		Type      string
		Timestamp time.Time
		Data      Message
	}
	if err := json.Unmarshal([]byte(r.bodies[0]), &got); err != nil {
		t.Fatal(err)
	}
	if got.Type != "mind.escalation" || !got.Timestamp.Equal(message.At) || got.Data.Text != message.Text || !got.Data.Untrusted {
		t.Errorf("got %+v", got)
	}
}

func TestWebhookFailures(t *testing.T) {
	r := newReceiver(t)
	ch, err := Webhook(WebhookOptions{URL: r.URL + "/private-path", Secret: secret})
	if err != nil {
		t.Fatal(err)
	}
	for _, status := range []int{http.StatusInternalServerError, http.StatusGone, http.StatusTooManyRequests, http.StatusFound, http.StatusTemporaryRedirect} {
		r.status = status
		if err := ch.Send(t.Context(), message); err == nil || !strings.Contains(err.Error(), strconv.Itoa(status)) {
			t.Errorf("%d: error is %v", status, err)
		}
	}
	if len(r.ids) != 5 {
		t.Errorf("%d requests, want 5: redirects are not followed", len(r.ids))
	}
	r.Close()
	err = ch.Send(t.Context(), message)
	if err == nil || strings.Contains(err.Error(), "private-path") {
		t.Errorf("error of a server that is gone is %v", err)
	}
}

func TestWebhookHangs(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	ch, err := Webhook(WebhookOptions{URL: server.URL, Secret: secret})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := ch.Send(ctx, message); err == nil || !strings.Contains(err.Error(), "in time") {
		t.Errorf("error is %v", err)
	}
}

func TestWebhookOptions(t *testing.T) {
	for name, test := range map[string]struct{ url, secret, want string }{
		"plain":         {"http://example.org/", secret, "https"},
		"loopback name": {"http://localhost:80/", secret, ""},
		"loopback":      {"http://[::1]:80/", secret, ""},
		"https":         {"https://example.org/x", secret, ""},
		"no secret":     {"https://example.org/", "", "secret_env"},
		"bad secret":    {"https://example.org/", "whsec_abc", "base64"},
		"short secret":  {"https://example.org/", "whsec_YWJj", "24"},
		"other scheme":  {"ftp://localhost/", secret, "https"},
		"nothing":       {"", secret, "https"},
		"broken":        {"https://u:p@ss wd/%zz", secret, "invalid url"},
	} {
		_, err := Webhook(WebhookOptions{URL: test.url, Secret: test.secret})
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: error is %v, want %q", name, err, test.want)
		}
	}
	if _, err := Webhook(WebhookOptions{URL: "https://example.org"}); err == nil {
		t.Error("a webhook without the name of a secret is taken")
	}
}
