package mcp

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ponder"
	"ponder/internal/auth"
)

const (
	maxCompletions   = 100 // of the protocol
	maxSubscriptions = 200 // resources of a client
	updatePause      = time.Second
)

// subscriptions are the watched resources of a client. The zero value is ready.
type subscriptions struct {
	mu   sync.Mutex
	list map[string]*subscription // by URI
}

type subscription struct {
	cancel   context.CancelFunc
	sessions map[*sdk.ServerSession]bool
}

// splitURI returns the session and the view of a URI.
func splitURI(uri string) (id, view string, ok bool) {
	rest, ok := strings.CutPrefix(uri, sessionsURI)
	id, tail, cut := strings.Cut(rest, "/")
	if cut {
		tail = "/" + tail
	}
	_, known := views[tail]
	return id, tail, ok && known
}

// resourceThread returns the thread whose events change a resource.
func (c *client) resourceThread(ctx context.Context, uri string) (ponder.ThreadID, error) {
	if err := c.checkScope(auth.Read); err != nil {
		return "", c.clientError(err)
	}
	if uri == mindURI {
		return c.Desk.Service.Thread(c.caller.Owner), nil
	}
	id, _, ok := splitURI(uri)
	if !ok {
		return "", sdk.ResourceNotFoundError(uri)
	}
	work, err := c.findWork(ctx, id)
	if err != nil {
		if c.Desk.APIErrorOf(err).Status == http.StatusNotFound {
			return "", sdk.ResourceNotFoundError(uri)
		}
		return "", c.clientError(err)
	}
	return work.Thread, nil
}

// subscribe sends a notification after each change of a resource, at most one in updatePause.
func (c *client) subscribe(ctx context.Context, req *sdk.SubscribeRequest) error {
	uri := req.Params.URI
	thread, err := c.resourceThread(c.withCaller(ctx), uri)
	if err != nil {
		return err
	}
	s := &c.subscriptions
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list == nil {
		s.list = make(map[string]*subscription)
	}
	one := s.list[uri]
	if one == nil {
		if len(s.list) >= maxSubscriptions {
			return badParams("at most %d resources: unsubscribe from one first", maxSubscriptions)
		}
		parent := c.Desk.Gone
		if parent == nil {
			parent = context.Background()
		}
		watched, cancel := context.WithCancel(parent)
		one = &subscription{cancel: cancel, sessions: make(map[*sdk.ServerSession]bool)}
		s.list[uri] = one
		after := ponder.Seq(0)
		if info, err := c.Desk.Store.Thread(ctx, thread); err == nil {
			after = info.Head
		}
		go c.notifyUpdates(watched, uri, thread, after)
	}
	if !one.sessions[req.Session] {
		one.sessions[req.Session] = true
		go func() {
			_ = req.Session.Wait() // the reason does not matter
			s.remove(uri, req.Session)
		}()
	}
	return nil
}

func (c *client) unsubscribe(_ context.Context, req *sdk.UnsubscribeRequest) error {
	c.subscriptions.remove(req.Params.URI, req.Session)
	return nil
}

func (s *subscriptions) remove(uri string, session *sdk.ServerSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.list[uri]
	if one == nil {
		return
	}
	if delete(one.sessions, session); len(one.sessions) == 0 {
		one.cancel()
		delete(s.list, uri)
	}
}

// notifyUpdates sends the notifications of a resource until ctx is done or its thread is removed.
func (c *client) notifyUpdates(ctx context.Context, uri string, thread ponder.ThreadID, after ponder.Seq) {
	w := c.Desk.Hub.WatchEvents(thread, after)
	defer w.Close()
	for {
		if _, err := w.Next(ctx); err != nil {
			return
		}
		_ = c.server.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: uri})
		select {
		case <-time.After(updatePause):
		case <-ctx.Done():
			return
		}
	}
}

// complete returns the sessions that an argument may name, the newest first.
func (c *client) complete(ctx context.Context, req *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	ctx = c.withCaller(ctx)
	if err := c.checkScope(auth.Read); err != nil {
		return nil, c.clientError(err)
	}
	arg := req.Params.Argument
	switch ref := req.Params.Ref; {
	case ref == nil:
		return nil, badParams("ref: expected ref/prompt or ref/resource")
	case ref.Type == "ref/prompt":
		i := slices.IndexFunc(hostPrompts, func(p hostPrompt) bool { return p.name == ref.Name })
		if i < 0 || hostPrompts[i].arg != arg.Name {
			return nil, badParams("there is no prompt %q with the argument %q", ref.Name, arg.Name)
		}
		if arg.Name != "session" {
			return completionOf(nil), nil // a text of the user
		}
	default:
		if _, _, ok := splitURI(ref.URI); !ok || arg.Name != "id" {
			return nil, badParams("there is no resource template %q with the variable %q", ref.URI, arg.Name)
		}
	}
	infos, err := c.newestSessions(ctx)
	if err != nil {
		return nil, c.clientError(err)
	}
	var ids []string
	for _, info := range infos {
		if id := idOf(info.ID); strings.HasPrefix(strings.ToLower(id), strings.ToLower(arg.Value)) {
			ids = append(ids, id)
		}
	}
	return completionOf(ids), nil
}

func completionOf(values []string) *sdk.CompleteResult {
	some := append([]string{}, values[:min(len(values), maxCompletions)]...)
	return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: some, Total: len(values), HasMore: len(some) < len(values)}}
}
