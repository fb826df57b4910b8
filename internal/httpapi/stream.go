package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ponder"
	"ponder/internal/auth"
	"ponder/internal/stream"
	"ponder/mode/chat"
	"ponder/mode/research"
	"ponder/mode/session"
)

// An EventCursor is the start of a stream. The header wins.
type EventCursor struct {
	After    int64 `query:"after" minimum:"0" doc:"start after the event of this seq"`
	Starting int64 `query:"starting_after" minimum:"0" doc:"same as after"`
	Last     int64 `header:"Last-Event-ID" minimum:"0" doc:"same as after; overrides it"`
}

func (c EventCursor) startSeq() ponder.Seq { return ponder.Seq(cmp.Or(c.Last, c.After, c.Starting)) }

func wantsEvents(r *http.Request) bool {
	return strings.Contains(strings.ToLower(strings.Join(r.Header.Values("Accept"), ",")), eventStream)
}

const eventStream = "text/event-stream"

// Events without an id.
const (
	deltaEvent   = "delta" // text for the user: see [stream.Piece]
	gapEvent     = "gap"   // invalid cursor; the stream continues after "after"
	removedEvent = "removed"
	closingEvent = "closing" // reconnect
	troubleEvent = "trouble" // the database cannot be written; the stream continues later
)

// isShown reports whether a delta is text for the user. Of sessions, only deltas of [session.TextStreams] are;
// their key is that of an attempt.
func isShown(kind ponder.Kind, key string) bool {
	switch kind {
	case ponder.KindConversation:
		return chat.WritesAnswer(key)
	case ponder.KindResearch:
		return research.WritesAnswer(key)
	case ponder.KindSession:
		return session.IsShown(key) && strings.Contains(key, "#")
	}
	return false
}

func isEndless(kind ponder.Kind) bool {
	return kind == ponder.KindConversation || kind == ponder.KindSubconscious
}

type threadStream struct {
	*api
	watch *stream.Watcher
	kind  ponder.Kind
	ctx   context.Context //nolint:containedctx // of the request
	until ponder.Seq      // last event, once known
}

func (a *api) streamEvents(w http.ResponseWriter, r *http.Request, info ponder.Info, after ponder.Seq) {
	s := &threadStream{api: a, kind: info.Kind, ctx: r.Context()}
	if info.Status.Ended() && !isEndless(info.Kind) {
		s.until = info.Head
		if more, err := a.hasVisible(r.Context(), info.ID, after); err != nil {
			writeProblem(w, http.StatusServiceUnavailable, "cannot read the thread now: try again")
			return
		} else if !more {
			w.WriteHeader(http.StatusNoContent)
			return
		}
	}
	from := after
	if after > info.Head {
		from = 0
	}
	look := a.Hub.Watch
	if info.Kind == ponder.KindSubconscious {
		look = a.Hub.WatchEvents
	}
	watch := look(info.ID, from)
	defer watch.Close()
	s.watch = watch
	a.sendFrames(w, r, watch, func(out *stream.Writer) {
		if from != after {
			out.Event(0, gapEvent, []byte(`{"after":0}`))
		}
	}, s.renderFrame, writeTrouble, func(*stream.Writer) {})
}

// noRoomText is shown while the database cannot be written.
const noRoomText = "the server cannot write to its database now: it keeps stored messages and continues when space is free"

// writeTrouble keeps the stream open.
func writeTrouble(out *stream.Writer) (stays bool) {
	js, err := json.Marshal(map[string]string{"reason": noRoomText})
	if err == nil {
		out.Event(0, troubleEvent, js)
	}
	return err == nil
}

// sendFrames streams the frames of watch between begin and end. trouble reports whether the stream survives a
// database that cannot be written.
func (a *api) sendFrames(w http.ResponseWriter, r *http.Request, watch *stream.Watcher, begin func(*stream.Writer), show func(stream.Frame) ([]byte, string, bool), trouble func(*stream.Writer) bool, end func(*stream.Writer)) {
	out := stream.NewWriter(w)
	if r.Method == http.MethodHead {
		_ = out.Flush() // a disconnect needs no handling
		return
	}
	begin(out)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(a.gone, cancel)()
	err := out.Send(ctx, watch, show)
	for stream.IsWriteError(err) && trouble(out) {
		err = out.Send(ctx, watch, show)
	}
	switch {
	case r.Context().Err() != nil:
		return
	case err == nil, stream.IsWriteError(err):
		end(out)
	case isGone(err):
		out.Event(0, removedEvent, []byte(`{"reason":"the thread was removed"}`))
	case a.gone.Err() != nil:
		out.Event(0, closingEvent, []byte(`{"reason":"the server is stopping: reconnect with the last ID"}`))
	default:
		a.Logger.Info("stream failed", "error", err)
	}
	_ = out.Flush() // likewise
}

// renderFrame is a callback of [stream.Writer.Send].
func (s *threadStream) renderFrame(f stream.Frame) (data []byte, name string, last bool) {
	if f.Seq == 0 {
		if f.Delta.Text == "" || !isShown(s.kind, f.Delta.Key) {
			return nil, "", false
		}
		return f.JSON, deltaEvent, false
	}
	if f.End && s.until == 0 && !isEndless(s.kind) {
		if info, err := s.watch.Thread(s.ctx); err == nil && info.Status.Ended() {
			s.until = info.Head
		}
	}
	if !f.Internal {
		data = f.JSON
	}
	return data, "", s.until > 0 && f.Seq >= s.until
}

func (a *api) hasVisible(ctx context.Context, id ponder.ThreadID, after ponder.Seq) (bool, error) {
	for ev, err := range a.Store.Events(ctx, id, after) {
		if err != nil {
			return false, err
		}
		if !ev.Internal {
			return true, nil
		}
	}
	return false, nil
}

type bodyFunc struct {
	Body func(huma.Context)
}

// jsonOr documents JSON or server-sent events.
func (a *api) jsonOr(op huma.Operation, status string, body reflect.Type, hint, says string) huma.Operation {
	if op.Responses == nil {
		op.Responses = make(map[string]*huma.Response)
	}
	op.Responses[status] = &huma.Response{
		Description: "JSON; or, with `Accept: text/event-stream`, " + says,
		Content:     map[string]*huma.MediaType{"application/json": {Schema: a.huma.OpenAPI().Components.Schemas.Schema(body, true, hint)}, eventStream: streamType},
	}
	return op
}

var streamType = &huma.MediaType{
	Schema: &huma.Schema{Type: huma.TypeString, Description: "server-sent events. An event without a name is an event of the thread as JSON, with its seq as `id`. " +
		"`delta`, without an `id`: a part of the text that a model writes; it may be lost. `gap`: the cursor is invalid, and the stream continues after `after`. " +
		"`removed`: the thread was removed. `closing`: the server is stopping. `trouble`: the server cannot write to its database now, for example because the disk is full; the stream stays open."},
	Example: "id: 12\ndata: {\"event_id\":\"evt_01\",\"thread_id\":\"thr_01\",\"seq\":12,\"type\":\"thought\",\"content\":\"...\"}\n\n",
}

const streamSays = "its events as they arrive; the stream of an ended thread closes after the last event"

type Event json.RawMessage

func eventOf(ev ponder.Event) (Event, error) {
	js, err := stream.VisibleEvent(ev).MarshalJSON()
	return Event(js), err
}

func (e Event) MarshalJSON() ([]byte, error) {
	if e == nil {
		return []byte("null"), nil
	}
	return e, nil
}

func (Event) Schema(huma.Registry) *huma.Schema {
	text := func(doc string) *huma.Schema { return &huma.Schema{Type: huma.TypeString, Description: doc} }
	number := func(doc string) *huma.Schema {
		return &huma.Schema{Type: huma.TypeInteger, Format: "int64", Description: doc}
	}
	anything := func(doc string) *huma.Schema { return &huma.Schema{Description: doc} }
	return &huma.Schema{
		Type: huma.TypeObject, Description: "An event of a thread, as stored. Fields without a value are absent.", AdditionalProperties: true,
		Required: []string{"event_id", "thread_id", "seq", "ts", "type"},
		Properties: map[string]*huma.Schema{
			"event_id": text("ID of the event"), "thread_id": text("ID of the thread"), "seq": number("position in the thread, from 1"),
			"ts": {Type: huma.TypeString, Format: "date-time", Description: "time of writing"}, "type": text("user_message, assistant_message, thought, synthesis, ..."),
			"run_id": text("ID of the run"), "cause": text("key of the action that wrote it"), "elapsed_ms": number("thinking time of the thread"),
			"role": text("author of the message: user, assistant or system"), "content": text("text"), "tool_name": text("name of the tool"), "tool_args": anything("arguments of the tool"),
			"tool_result": text("result of the tool"), "reason": text("reason"), "model": text("provider/model"), "usage": anything("tokens"), "data": anything("other fields of events of this type"),
		},
	}
}

const (
	maxViews = 256
	viewLife = 5 * time.Minute // another process may erase content
)

// views caches views, so that a request reads only new events. It is safe for concurrent use.
type views struct {
	log ponder.Log
	now func() time.Time

	mu   sync.Mutex
	list map[viewKey]*view
}

// A viewKey names a view. Callers with remote content have their own, because its texts keep their links.
type viewKey struct {
	id    ponder.ThreadID
	whole bool
}

type view struct {
	mu   sync.Mutex
	made time.Time
	head ponder.Seq
	last time.Time // of the newest event
	session.View
}

func newViews(log ponder.Log) *views {
	return &views{log: log, now: time.Now, list: make(map[viewKey]*view)}
}

// withView calls show with the current view, which show must not retain.
func (v *views) withView(ctx context.Context, info ponder.Info, show func(session.View)) error {
	one := v.viewOf(viewKey{info.ID, auth.CallerOf(ctx).RemoteContent})
	one.mu.Lock()
	defer one.mu.Unlock()
	if now := v.now(); one.made.IsZero() || now.Sub(one.made) > viewLife {
		one.View, one.head, one.made = session.NewView(), 0, now
	}
	if one.head < info.Head {
		for ev, err := range v.log.Events(ctx, info.ID, one.head) {
			if err != nil {
				one.made = time.Time{}
				return fmt.Errorf("read %s: %w", info.ID, err)
			}
			one.View, one.head, one.last = one.Apply(ev), ev.Seq, ev.Time
		}
	}
	seen := one.View
	if info.Held && !info.Status.Ended() {
		seen = seen.WithElapsed(v.now().Sub(one.last))
	}
	show(seen)
	return nil
}

// viewOf evicts arbitrary views above the limit.
func (v *views) viewOf(id viewKey) *view {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.list[id] == nil {
		for other := range v.list {
			if len(v.list) < maxViews {
				break
			}
			delete(v.list, other)
		}
		v.list[id] = &view{}
	}
	return v.list[id]
}

func (v *views) dropView(id ponder.ThreadID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.list, viewKey{id, false})
	delete(v.list, viewKey{id, true})
}
