package responses

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/compat"
	"ponder/internal/netaddr"
	"ponder/internal/textkit"
	"ponder/internal/webhook"
)

type endpoint struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	URL      string    `json:"url"`
	Types    []string  `json:"event_types"`
	Secret   string    `json:"secret"`
	Old      string    `json:"old_secret,omitempty"`
	OldUntil time.Time `json:"old_until,omitzero"`
	Created  time.Time `json:"created_at"`
	Updated  time.Time `json:"updated_at"`
}

var hookTypes = []string{"response.completed", "response.failed", "response.cancelled", "response.incomplete"}

const (
	maxEndpoints  = 20 // of an owner
	maxHookURL    = 2048
	maxHookName   = 200
	secretBytes   = 32
	oldSecretTime = 24 * time.Hour
)

func (e *endpoint) wantsEvent(kind string) bool { return slices.Contains(e.Types, kind) }

func newSecret() string {
	key := make([]byte, secretBytes)
	_, _ = rand.Read(key)
	return webhook.SecretPrefix + base64.StdEncoding.EncodeToString(key)
}

// renderView renders an endpoint, with its secret or a hint.
func (e *endpoint) renderView(secret bool) map[string]any {
	v := map[string]any{
		"id": e.ID, "object": "webhook_endpoint", "name": e.Name, "url": e.URL, "event_types": e.Types,
		"created_at": e.Created.Unix(), "updated_at": e.Updated.Unix(), "signing_secret_hint": webhook.SecretPrefix + "..." + e.Secret[len(e.Secret)-4:],
	}
	if secret {
		v["signing_secret"] = e.Secret
	}
	return v
}

func (h *Hooks) listEndpoints(ctx context.Context, owner string) (list []*endpoint, err error) {
	records, err := h.Records.Records(ctx, endpointKind, owner)
	if err != nil {
		return nil, fmt.Errorf("read webhooks: %w", err)
	}
	for _, r := range records {
		e := &endpoint{}
		if err := json.Unmarshal(r.JSON, e); err != nil {
			return nil, fmt.Errorf("read webhook %s: %w", r.ID, err)
		}
		list = append(list, e)
	}
	return list, nil
}

func (h *Hooks) findEndpoint(ctx context.Context, owner, id string) (*endpoint, error) {
	list, err := h.listEndpoints(ctx, owner)
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		if e.ID == id {
			return e, nil
		}
	}
	return nil, &compat.APIError{Status: http.StatusNotFound, Detail: "Webhook endpoint with id '" + textkit.Prefix(id, maxQuoted) + "' not found."}
}

func (h *Hooks) putEndpoint(ctx context.Context, owner string, e *endpoint) error {
	js, err := json.Marshal(e)
	if err == nil {
		err = h.Records.Put(ctx, endpointKind, owner, e.ID, js)
	}
	if err != nil {
		return fmt.Errorf("save a webhook: %w", err)
	}
	return nil
}

// hookPaths has the path of clients, and that of OpenAI's first documentation.
var hookPaths = []string{"/v1/webhook_endpoints", "/v1/webhooks"}

func (h *Hooks) changeRoutes() map[string]compat.Handler {
	all := make(map[string]compat.Handler)
	for _, path := range hookPaths {
		all["POST "+path] = h.createEndpoint
		all["POST "+path+"/{id}"] = h.withEndpoint(h.updateEndpoint)
		all["DELETE "+path+"/{id}"] = h.withEndpoint(h.removeEndpoint)
		all["POST "+path+"/{id}/rotate_secret"] = h.withEndpoint(h.rotateSecret)
		all["POST "+path+"/{id}/test"] = h.withEndpoint(h.testEndpoint)
	}
	return all
}

// withEndpoint adapts a handler to the endpoint and body of a request.
func (h *Hooks) withEndpoint(do func(w http.ResponseWriter, r *http.Request, d endpointRequest) error) compat.Handler {
	return func(w http.ResponseWriter, r *http.Request, owner string) error {
		e, err := h.findEndpoint(r.Context(), owner, r.PathValue("id"))
		if err != nil {
			return err
		}
		d := endpointRequest{endpoint: e, owner: owner}
		if r.Method == http.MethodPost && r.ContentLength != 0 {
			if _, err := compat.Read(r, &d.body); err != nil {
				return err
			}
		}
		return do(w, r, d)
	}
}

type endpointRequest struct {
	*endpoint
	owner string
	body  hookBody
}

func (h *Hooks) readRoutes() map[string]compat.Handler {
	all := map[string]compat.Handler{"GET /v1/webhook_event_types": h.replyTypes}
	for _, path := range hookPaths {
		all["GET "+path] = h.replyEndpoints
		all["GET "+path+"/{id}"] = h.withEndpoint(h.getEndpoint)
	}
	return all
}

// hookBody is a change; nil fields stay.
type hookBody struct {
	Name  *string  `json:"name"`
	URL   *string  `json:"url"`
	Types []string `json:"event_types"`
	Keep  bool     `json:"keep_old_secret_active_for_24_hours"`
	Type  string   `json:"event_type"` // of a test event
}

// applyTo validates b and applies it to e.
func (b *hookBody) applyTo(e *endpoint, guard netaddr.Guard) error {
	if b.Name != nil {
		if *b.Name == "" || len(*b.Name) > maxHookName {
			return compat.InvalidField("name", "name: expected 1 to %d bytes", maxHookName)
		}
		e.Name = *b.Name
	}
	if b.URL != nil {
		if err := checkHookURL(guard, *b.URL); err != nil {
			return err
		}
		e.URL = *b.URL
	}
	if b.Types != nil {
		if len(b.Types) == 0 || len(b.Types) > len(hookTypes) {
			return compat.InvalidField("event_types", "event_types: expected some of %s", strings.Join(hookTypes, ", "))
		}
		for i, t := range b.Types {
			if !slices.Contains(hookTypes, t) {
				return compat.InvalidField("event_types", "event_types[%d]: expected one of %s", i, strings.Join(hookTypes, ", "))
			}
		}
		e.Types = b.Types
	}
	e.Updated = time.Now().UTC()
	return nil
}

func checkHookURL(guard netaddr.Guard, text string) error {
	if len(text) > maxHookURL {
		return compat.InvalidField("url", "url: expected at most %d bytes", maxHookURL)
	}
	if err := webhook.CheckURL(guard, text); err != nil {
		return compat.InvalidField("url", "url: %s", err)
	}
	return nil
}

func (h *Hooks) createEndpoint(w http.ResponseWriter, r *http.Request, owner string) error {
	var in hookBody
	if _, err := compat.Read(r, &in); err != nil {
		return err
	}
	switch {
	case in.Name == nil:
		return compat.InvalidField("name", "name is required")
	case in.URL == nil:
		return compat.InvalidField("url", "url is required")
	case in.Types == nil:
		return compat.InvalidField("event_types", "event_types is required")
	}
	list, err := h.listEndpoints(r.Context(), owner)
	if err != nil {
		return err
	}
	if len(list) >= maxEndpoints {
		return compat.InvalidField("", "the limit of %d webhook endpoints is reached; remove one", maxEndpoints)
	}
	e := &endpoint{ID: ponder.NewID("whe"), Secret: newSecret(), Created: time.Now().UTC()}
	if err := in.applyTo(e, h.Guard); err != nil {
		return err
	}
	if err := h.putEndpoint(r.Context(), owner, e); err != nil {
		return err
	}
	return compat.Reply(w, http.StatusOK, e.renderView(true))
}

func (h *Hooks) replyEndpoints(w http.ResponseWriter, r *http.Request, owner string) error {
	all, err := h.listEndpoints(r.Context(), owner)
	if err != nil {
		return err
	}
	list := make([]map[string]any, 0, len(all))
	for _, e := range all {
		list = append(list, e.renderView(false))
	}
	return replyPage(w, r, list)
}

func (*Hooks) replyTypes(w http.ResponseWriter, _ *http.Request, _ string) error {
	return compat.Reply(w, http.StatusOK, map[string]any{"object": "list", "data": hookTypes})
}

func (*Hooks) getEndpoint(w http.ResponseWriter, _ *http.Request, e endpointRequest) error {
	return compat.Reply(w, http.StatusOK, e.renderView(false))
}

func (h *Hooks) updateEndpoint(w http.ResponseWriter, r *http.Request, e endpointRequest) error {
	if err := e.body.applyTo(e.endpoint, h.Guard); err != nil {
		return err
	}
	if err := h.putEndpoint(r.Context(), e.owner, e.endpoint); err != nil {
		return err
	}
	return compat.Reply(w, http.StatusOK, e.renderView(false))
}

func (h *Hooks) removeEndpoint(w http.ResponseWriter, r *http.Request, e endpointRequest) error {
	if err := h.Records.Drop(r.Context(), endpointKind, e.owner, e.ID); err != nil {
		return fmt.Errorf("remove a webhook: %w", err)
	}
	return compat.Reply(w, http.StatusOK, map[string]any{"id": e.ID, "object": "webhook_endpoint.deleted", "deleted": true})
}

func (h *Hooks) rotateSecret(w http.ResponseWriter, r *http.Request, e endpointRequest) error {
	e.Old, e.OldUntil, e.Updated = "", time.Time{}, time.Now().UTC()
	if e.body.Keep {
		e.Old, e.OldUntil = e.Secret, time.Now().UTC().Add(oldSecretTime)
	}
	e.Secret = newSecret()
	if err := h.putEndpoint(r.Context(), e.owner, e.endpoint); err != nil {
		return err
	}
	return compat.Reply(w, http.StatusOK, e.renderView(true))
}

func (h *Hooks) testEndpoint(w http.ResponseWriter, r *http.Request, e endpointRequest) error {
	if !slices.Contains(hookTypes, e.body.Type) {
		return compat.InvalidField("event_type", "event_type: expected one of %s", strings.Join(hookTypes, ", "))
	}
	d := newDelivery(ponder.NewID("evt"), e.owner, e.ID, e.body.Type, prefix+"test", time.Now())
	status, err := h.sendEvent(r.Context(), e.endpoint, d.ID, []byte(d.Body))
	if err != nil {
		return compat.InvalidField("url", "cannot reach the endpoint: %s", errUnreached)
	}
	return compat.Reply(w, http.StatusOK, map[string]any{
		"object": "webhook_endpoint.test", "webhook_endpoint_id": e.ID, "event_type": e.body.Type, "status_code": status, "success": true,
	})
}

// errUnreached is one text for all causes, so that a token cannot scan names and ports.
var errUnreached = errors.New("no connection to a public address, or no answer")

func (h *Hooks) sendEvent(ctx context.Context, e *endpoint, id string, body []byte) (int, error) {
	if err := checkHookURL(h.Guard, e.URL); err != nil {
		return 0, err
	}
	now := time.Now()
	status, err := webhook.Post(ctx, cmp.Or(h.Client, publicClient), e.URL, e.signingKeys(now), id, now, body)
	if err != nil {
		return 0, fmt.Errorf("post to a webhook: %w", err)
	}
	return status, nil
}

// signingKeys returns two keys while an old secret is valid.
func (e *endpoint) signingKeys(now time.Time) (list [][]byte) {
	secrets := []string{e.Secret}
	if e.Old != "" && now.Before(e.OldUntil) {
		secrets = append(secrets, e.Old)
	}
	for _, s := range secrets {
		if key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(s, webhook.SecretPrefix)); err == nil { // newSecret made them
			list = append(list, key)
		}
	}
	return list
}

var publicClient = webhook.NewClient(netaddr.Guard{})
