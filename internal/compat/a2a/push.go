package a2a

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/netaddr"
	"ponder/internal/webhook"
)

// pushKind is the kind of the records with push configs. Their ids are TASK/CONFIG.
const pushKind = "a2a.push"

// Limits of push configs.
const (
	maxConfigs  = 20  // of a task
	maxOwned    = 500 // of an owner
	maxURL      = 2048
	maxSecret   = 4096
	maxConfigID = 64
	pushTimeout = 15 * time.Second
)

// pauses are those between attempts to deliver an event.
var pauses = []time.Duration{5 * time.Second, 30 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour}

// Run delivers push notifications, also those of an earlier server, until ctx is done.
func (s *Server) Run(ctx context.Context) error {
	if s.Records == nil {
		return nil
	}
	list, err := s.Records.Records(ctx, pushKind, "")
	if err != nil {
		return fmt.Errorf("read push notifications: %w", err)
	}
	s.mu.Lock()
	s.ctx = ctx
	s.mu.Unlock()
	for _, r := range list {
		c := &sdk.PushConfig{}
		if json.Unmarshal(r.JSON, c) == nil {
			s.watch(r.Owner, c)
		}
	}
	<-ctx.Done()
	s.work.Wait()
	return nil
}

func configKey(c *sdk.PushConfig) string { return string(c.TaskID) + "/" + c.ID }

// watch starts at most one watcher of a config.
func (s *Server) watch(owner string, c *sdk.PushConfig) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := owner + "\n" + configKey(c)
	if s.ctx == nil || s.ctx.Err() != nil || s.watched[key] {
		return // Run starts it
	}
	s.watched[key] = true
	ctx := auth.WithCaller(s.ctx, auth.Caller{Owner: owner, Scopes: []auth.Scope{auth.Read}})
	s.work.Go(func() {
		err := s.pushUntilEnd(ctx, owner, c)
		s.mu.Lock()
		delete(s.watched, key)
		s.mu.Unlock()
		if err != nil { // the server ends
			return
		}
		if again, err := s.newestConfig(ctx, owner, c); err == nil && again != nil { // added while the watcher ended
			s.watch(owner, again)
		}
	})
}

// maxPause is the index of the longest pause after an error of the store.
const maxPause = 2

// pushUntilEnd is pushEvents with retries after errors of the store, until ctx is done.
func (s *Server) pushUntilEnd(ctx context.Context, owner string, c *sdk.PushConfig) error {
	announced := ""
	for try := 0; ; try++ {
		err := s.pushEvents(ctx, owner, c, &announced)
		if err == nil || ctx.Err() != nil {
			return cmp.Or(ctx.Err(), err)
		}
		s.Desk.APIErrorOf(err) // logs it
		select {
		case <-time.After(pauses[min(try, maxPause)]):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// pushEvents posts the task whenever it waits for input, and at its end. Then it removes the config. announced is the
// posted state.
func (s *Server) pushEvents(ctx context.Context, owner string, c *sdk.PushConfig, announced *string) error {
	for {
		t, err := s.findTask(ctx, owner, c.TaskID)
		if err != nil {
			if errors.Is(err, sdk.ErrTaskNotFound) || errors.Is(err, ponder.ErrNoThread) {
				return s.Records.Drop(ctx, pushKind, owner, configKey(c))
			}
			return err
		}
		state := t.protocolState()
		if mark := fmt.Sprint(state, t.job.ID(), len(t.state.Parts)); state != sdk.TaskStateWorking && mark != *announced {
			event, err := s.render(ctx, t, nil, true)
			if err != nil {
				return err
			}
			if err := s.deliver(ctx, owner, c, event); err != nil {
				return err
			}
			*announced = mark
		}
		if state.Terminal() {
			return s.Records.Drop(ctx, pushKind, owner, configKey(c))
		}
		if err := s.awaitChange(ctx, t); err != nil {
			return err
		}
		if newest, err := s.newestConfig(ctx, owner, c); err != nil || newest == nil {
			return err
		}
	}
}

// awaitChange waits until a task has another state, or at most a while.
func (s *Server) awaitChange(ctx context.Context, t *task) error {
	if t.protocolState() == sdk.TaskStateWorking {
		return s.awaitTask(ctx, t)
	}
	const again = time.Minute
	ctx, cancel := context.WithTimeout(ctx, again)
	defer cancel()
	seen := len(t.state.Parts)
	_, err := s.Desk.Wait(ctx, t.job, func(compat.Part) error {
		if seen--; seen < 0 {
			return errInterrupted
		}
		return nil
	}, nil, nil)
	if err == nil { // a turn that waits for confirmation has ended
		<-ctx.Done()
	}
	if errors.Is(err, errInterrupted) || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil
	}
	return cmp.Or(err, ctx.Err())
}

// newestConfig returns the config as the client set it last, or nil if the client removed it.
func (s *Server) newestConfig(ctx context.Context, owner string, c *sdk.PushConfig) (*sdk.PushConfig, error) {
	list, err := s.listConfigs(ctx, owner, c.TaskID)
	for _, one := range list {
		if one.ID == c.ID {
			return one, nil
		}
	}
	return nil, err
}

// deliver posts an event, with retries, to the address that the client set last. A client that never accepts it loses
// it.
func (s *Server) deliver(ctx context.Context, owner string, c *sdk.PushConfig, event *sdk.Task) error {
	body, err := json.Marshal(sdk.StreamResponse{Event: event})
	if err != nil {
		return fmt.Errorf("encode a task: %w", err)
	}
	for try := 0; ; try++ {
		newest, err := s.newestConfig(ctx, owner, c)
		if err != nil || newest == nil {
			return err
		}
		c = newest
		status, err := s.post(ctx, c, body)
		if err == nil && status/100 == 2 || status == http.StatusGone || try == len(pauses) {
			return ctx.Err()
		}
		select {
		case <-time.After(pauses[try]):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// post follows no redirects, because they could lead into a private network, or take a secret elsewhere.
func (s *Server) post(ctx context.Context, c *sdk.PushConfig, body []byte) (status int, err error) {
	if err := s.checkURL(c.URL); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(body))
	if err != nil {
		return 0, errors.New("the address is not allowed")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Ponder")
	if c.Token != "" {
		req.Header.Set("A2A-Notification-Token", c.Token)
		req.Header.Set("X-A2A-Notification-Token", c.Token) // of version 0.3
	}
	if c.Auth != nil && c.Auth.Credentials != "" {
		req.Header.Set("Authorization", c.Auth.Scheme+" "+c.Auth.Credentials)
	}
	client := *cmp.Or(s.Client, publicClient)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

func (s *Server) checkURL(text string) error {
	if len(text) > maxURL {
		return invalid("url: expected at most %d bytes", maxURL)
	}
	if err := webhook.CheckURL(s.Guard, text); err != nil {
		return invalid("url: %s", err)
	}
	return nil
}

var publicClient = webhook.NewClient(netaddr.Guard{})

// isHeaderText reports whether a text is a safe value of a header.
func isHeaderText(text string, most int) bool {
	return len(text) <= most && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

// addConfig stores a config and watches its task.
func (s *Server) addConfig(ctx context.Context, owner string, c *sdk.PushConfig) (*sdk.PushConfig, error) {
	if s.Records == nil {
		return nil, sdk.NewError(sdk.ErrPushNotificationNotSupported, "push notifications are not supported")
	}
	if err := s.checkURL(c.URL); err != nil {
		return nil, err
	}
	c.ID = cmp.Or(c.ID, ponder.NewID("push"))
	switch {
	case !isHeaderText(c.ID, maxConfigID) || strings.Contains(c.ID, "/"):
		return nil, invalid("id: expected at most %d ASCII characters without a slash", maxConfigID)
	case !isHeaderText(c.Token, maxSecret):
		return nil, invalid("token: expected at most %d ASCII characters", maxSecret)
	case c.Auth != nil && (!isHeaderText(c.Auth.Credentials, maxSecret) || !isHeaderText(c.Auth.Scheme, maxConfigID) || strings.Contains(c.Auth.Scheme, " ")):
		return nil, invalid("authentication: expected a scheme, such as Bearer, and credentials of at most %d ASCII characters", maxSecret)
	}
	all, err := s.Records.Records(ctx, pushKind, owner)
	if err != nil {
		return nil, err
	}
	mine := 0
	for _, r := range all {
		if strings.HasPrefix(r.ID, string(c.TaskID)+"/") && r.ID != configKey(c) {
			mine++
		}
	}
	if mine >= maxConfigs || len(all) >= maxOwned {
		return nil, invalid("the limit of push notifications is reached (%d for a task, %d in all): remove some", maxConfigs, maxOwned)
	}
	js, err := json.Marshal(c)
	if err == nil {
		err = s.Records.Put(ctx, pushKind, owner, configKey(c), js)
	}
	if err != nil {
		return nil, fmt.Errorf("save a push notification: %w", err)
	}
	s.watch(owner, c)
	return withoutSecrets(c), nil
}

// withoutSecrets returns a copy without credentials.
func withoutSecrets(c *sdk.PushConfig) *sdk.PushConfig {
	shown := *c
	if c.Auth != nil {
		shown.Auth = &sdk.PushAuthInfo{Scheme: c.Auth.Scheme}
	}
	return &shown
}

func (s *Server) listConfigs(ctx context.Context, owner string, id sdk.TaskID) (list []*sdk.PushConfig, err error) {
	var all []app.Record
	if all, err = s.Records.Records(ctx, pushKind, owner); err != nil {
		return nil, err
	}
	for _, r := range all {
		c := &sdk.PushConfig{}
		if json.Unmarshal(r.JSON, c) == nil && c.TaskID == id {
			list = append(list, c)
		}
	}
	return list, nil
}

func (s *Server) findConfig(ctx context.Context, owner string, id sdk.TaskID, name string) (*sdk.PushConfig, error) {
	list, err := s.listConfigs(ctx, owner, id)
	for _, c := range list {
		if c.ID == name {
			return c, nil
		}
	}
	return nil, cmp.Or(err, error(sdk.NewError(sdk.ErrTaskNotFound, "the task has no such push notification")))
}

// forTask calls do for a task of the caller, if push notifications are offered.
func (h *handler) forTask(ctx context.Context, need auth.Scope, id sdk.TaskID, do func(owner string) error) error {
	if h.Records == nil {
		return sdk.ErrPushNotificationNotSupported
	}
	owner, err := ownerOf(ctx, need)
	if err != nil {
		return err
	}
	if _, err := h.findTask(ctx, owner, id); err != nil {
		return h.protocolError(err)
	}
	return h.protocolError(do(owner))
}

func (h *handler) GetTaskPushConfig(ctx context.Context, req *sdk.GetTaskPushConfigRequest) (out *sdk.PushConfig, err error) {
	err = h.forTask(ctx, auth.Read, req.TaskID, func(owner string) error {
		c, err := h.findConfig(ctx, owner, req.TaskID, req.ID)
		if err == nil {
			out = withoutSecrets(c)
		}
		return err
	})
	return out, err
}

func (h *handler) ListTaskPushConfigs(ctx context.Context, req *sdk.ListTaskPushConfigRequest) (*sdk.ListTaskPushConfigResponse, error) {
	out := &sdk.ListTaskPushConfigResponse{Configs: []*sdk.PushConfig{}}
	err := h.forTask(ctx, auth.Read, req.TaskID, func(owner string) error {
		list, err := h.listConfigs(ctx, owner, req.TaskID)
		for _, c := range list {
			out.Configs = append(out.Configs, withoutSecrets(c))
		}
		return err
	})
	return out, err
}

func (h *handler) CreateTaskPushConfig(ctx context.Context, req *sdk.PushConfig) (out *sdk.PushConfig, err error) {
	err = h.forTask(ctx, auth.Think, req.TaskID, func(owner string) error {
		c := *req
		out, err = h.addConfig(ctx, owner, &c)
		return err
	})
	return out, err
}

func (h *handler) DeleteTaskPushConfig(ctx context.Context, req *sdk.DeleteTaskPushConfigRequest) error {
	return h.forTask(ctx, auth.Think, req.TaskID, func(owner string) error {
		return h.Records.Drop(ctx, pushKind, owner, string(req.TaskID)+"/"+req.ID)
	})
}
