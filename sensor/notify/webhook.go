package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// Type is the type of the events that are sent to webhooks.
const Type = "mind.escalation"

// WebhookOptions say where a webhook is.
type WebhookOptions struct {
	Name      string // of the channel; "webhook" if empty
	URL       string // https, or http to this machine
	SecretEnv string // the variable with its secret: "whsec_" and 24 to 64 bytes in base 64; while one replaces another, both, with a space
	Client    *http.Client
}

// Bounds of webhooks.
const (
	webhookTime = 15 * time.Second
	maxReply    = 64 << 10 // bytes that are read, so that the connection can be used again
)

// A hook posts messages.
type hook struct {
	url    string
	host   string
	keys   [][]byte
	client *http.Client
	now    func() time.Time
}

// Webhook returns a channel that posts messages as Standard Webhooks
// (standardwebhooks.com): signed, with the same webhook-id each time. Any 2xx is an
// answer; redirects are not followed.
func Webhook(o WebhookOptions) (Channel, error) {
	name := o.Name
	if name == "" {
		name = "webhook"
	}
	h, err := newHook(o)
	if err != nil {
		return Channel{}, fmt.Errorf("%s: %w", name, err)
	}
	return Channel{Name: name, Send: h.send}, nil
}

func newHook(o WebhookOptions) (*hook, error) {
	u, err := url.Parse(o.URL)
	if err != nil {
		return nil, errors.New("the url cannot be read") // not err: it has the address, which may be a secret
	}
	if u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
		return nil, errors.New("the url must begin with https:// (http:// only for this machine)")
	}
	keys, err := keysOf(o.SecretEnv)
	if err != nil {
		return nil, err
	}
	client := http.Client{}
	if o.Client != nil {
		client = *o.Client
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &hook{url: u.String(), host: u.Host, keys: keys, client: &client, now: time.Now}, nil
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

// keysOf reads the secrets of a variable.
func keysOf(env string) (keys [][]byte, err error) {
	if env == "" {
		return nil, errors.New("secret_env must name the variable with the secret")
	}
	for _, secret := range strings.Fields(os.Getenv(env)) {
		text, ok := strings.CutPrefix(secret, "whsec_")
		key, err := base64.StdEncoding.DecodeString(text)
		if !ok || err != nil || len(key) < 24 || len(key) > 64 {
			return nil, fmt.Errorf("%s must be whsec_ and 24 to 64 bytes in base 64", env)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("set %s to the secret of the webhook", env)
	}
	return keys, nil
}

// An envelope is what is posted.
type envelope struct {
	ID        string    `json:"id"`
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      Message   `json:"data"`
}

func (h *hook) send(ctx context.Context, m Message) error {
	m = m.cleaned()
	if m.Sources == nil {
		m.Sources = []string{}
	}
	id := token(m.ID)
	body, err := json.Marshal(envelope{ID: id, Type: Type, Timestamp: m.At.UTC(), Data: m})
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, webhookTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		return h.failed(err)
	}
	at := strconv.FormatInt(h.now().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Ponder")
	req.Header.Set("Webhook-Id", id)
	req.Header.Set("Webhook-Timestamp", at)
	req.Header.Set("Webhook-Signature", sign(h.keys, id, at, body))
	resp, err := h.client.Do(req)
	if err != nil {
		return h.failed(err)
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, maxReply) // what it says is nobody's concern
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the webhook at %s answered %d %s", h.host, resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	return nil
}

// failed says why a post failed without its address, whose path may be a secret.
func (h *hook) failed(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var n net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &n) && n.Timeout() {
		return fmt.Errorf("the webhook at %s does not answer in time", h.host)
	}
	return fmt.Errorf("post to the webhook at %s: %w", h.host, err)
}

// sign returns the signatures of a message, one for each key.
func sign(keys [][]byte, id, at string, body []byte) string {
	var list []string
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + at + "."))
		mac.Write(body)
		list = append(list, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(list, " ")
}
