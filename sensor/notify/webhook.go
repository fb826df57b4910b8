package notify

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"ponder/internal/webhook"
)

// EventType is the default event type of webhooks.
const EventType = "mind.escalation"

// WebhookOptions configure a webhook channel.
type WebhookOptions struct {
	Name   string // of the channel; default "webhook"
	URL    string // https, or http on this machine
	Secret string // "whsec_" and 24 to 64 bytes in base64; two separated by a space during a rotation
	Client *http.Client
}

type webhookSender struct {
	url    string
	host   string
	keys   [][]byte
	client *http.Client
	now    func() time.Time
}

// Webhook returns a channel that posts signed Standard Webhooks (standardwebhooks.com) with a
// stable webhook-id. Any 2xx status is a success. It follows no redirects.
func Webhook(o WebhookOptions) (Channel, error) {
	name := cmp.Or(o.Name, "webhook")
	h, err := newWebhookSender(o)
	if err != nil {
		return Channel{}, fmt.Errorf("%s: %w", name, err)
	}
	return Channel{Name: name, Send: h.send}, nil
}

func newWebhookSender(o WebhookOptions) (*webhookSender, error) {
	u, err := url.Parse(o.URL)
	if err != nil {
		return nil, errors.New("invalid url") // err contains the URL, which may be secret
	}
	if !webhook.IsURL(o.URL) {
		return nil, errors.New("the url must begin with https:// (http:// only for this machine)")
	}
	keys, err := parseKeys(o.Secret)
	if err != nil {
		return nil, err
	}
	return &webhookSender{url: u.String(), host: u.Host, keys: keys, client: cmp.Or(o.Client, http.DefaultClient), now: time.Now}, nil
}

func parseKeys(secrets string) (keys [][]byte, err error) {
	for _, secret := range strings.Fields(secrets) {
		text, ok := strings.CutPrefix(secret, webhook.SecretPrefix)
		key, err := base64.StdEncoding.DecodeString(text)
		if !ok || err != nil || len(key) < 24 || len(key) > 64 {
			return nil, errors.New("the secret must be whsec_ and 24 to 64 bytes in base64")
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New("secret_env must name the variable with the secret")
	}
	return keys, nil
}

type envelope struct {
	ID        string    `json:"id"`
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      Message   `json:"data"`
}

func (h *webhookSender) send(ctx context.Context, m Message) error {
	m = m.sanitizeMessage()
	if m.Sources == nil {
		m.Sources = []string{}
	}
	id := headerToken(m.ID)
	body, err := json.Marshal(envelope{ID: id, Type: cmp.Or(m.Type, EventType), Timestamp: m.At.UTC(), Data: m})
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	status, err := webhook.Post(ctx, h.client, h.url, h.keys, id, h.now(), body)
	if err != nil {
		return h.wrapError(err)
	}
	if status/100 != 2 {
		return fmt.Errorf("the webhook at %s answered %d %s", h.host, status, http.StatusText(status))
	}
	return nil
}

// wrapError describes a failed post.
func (h *webhookSender) wrapError(err error) error {
	var n net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &n) && n.Timeout() {
		return fmt.Errorf("the webhook at %s does not answer in time", h.host)
	}
	return fmt.Errorf("post to the webhook at %s: %w", h.host, err)
}
