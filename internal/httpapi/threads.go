package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/compat/completions"
	"ponder/internal/textkit"
	"ponder/mode/chat"
)

type Thread struct {
	ponder.Info
	Interrupted bool `json:"interrupted,omitempty"` // unfinished work has no holder
}

func (a *api) threadOf(info ponder.Info) Thread {
	return Thread{info, info.Interrupted(a.views.now())}
}

type ThreadPath struct {
	ID string `path:"id" maxLength:"200" doc:"ID of the thread"`
}

func (a *api) registerThreads() {
	const all, one = "/api/threads", "/api/threads/{id}"
	read, think := auth.Read, auth.Think
	missing, wrong, state := http.StatusNotFound, http.StatusBadRequest, http.StatusConflict
	op := func(scope auth.Scope, method, path, id, summary string, errs ...int) huma.Operation {
		return a.newOperation(scope, method, path, id, summary, tagThreads, errs...)
	}
	huma.Register(a.huma, op(read, http.MethodGet, all, "list-threads", "List threads, newest first"), a.listThreads)
	open := op(think, http.MethodPost, all, "open-conversation", "Create a conversation", wrong, state)
	open.DefaultStatus = http.StatusCreated
	huma.Register(a.huma, open, a.openThread)
	huma.Register(a.huma, op(read, http.MethodGet, one, "get-thread", "Show a thread", missing), a.getThread)
	huma.Register(a.huma, op(think, http.MethodDelete, one, "delete-thread", "Erase a thread with its memories and files", missing, state), a.deleteThread)
	events := op(read, http.MethodGet, one+"/events", "list-events", "List the events of a thread, oldest first, or follow them", missing)
	events = a.jsonOr(events, "200", reflect.TypeFor[manyEvents](), "ManyEvents", streamSays)
	events.Responses["204"] = &huma.Response{Description: "stream: the thread has ended, and no event follows the cursor"}
	huma.Register(a.huma, events, a.listEvents)
	say := op(think, http.MethodPost, one+"/messages", "post-message", "Send a message to a conversation", wrong, missing, state)
	say.DefaultStatus = http.StatusAccepted
	say = a.jsonOr(say, "202", reflect.TypeFor[turnOutput](), "Posted", "the events and deltas of the turn, then an event named turn")
	say.Responses["200"] = &huma.Response{Description: "with `?wait`: the turn has ended", Content: say.Responses["202"].Content}
	huma.Register(a.huma, say, a.postMessage)
	a.registerApprovals(op)
	huma.Register(a.huma, op(think, http.MethodPost, one+"/stop", "stop-thread", "Stop the work on a thread, such as an answer", wrong, missing, state), a.stopThread)
	huma.Register(a.huma, op(think, http.MethodPost, one+"/work", "work-on-thread", "Start the remaining work of a thread", wrong, missing, state), a.workOnThread)
	export := op(read, http.MethodGet, one+"/export", "export-thread", "Export a thread, or a session or research as a report", missing, wrong)
	huma.Register(a.huma, documentExport(export, "application/x-ndjson", "application/json", "text/markdown", "text/html"), a.exportThread)
}

type listThreads struct {
	Page
	Kind   ponder.Kind   `query:"kind" enum:"conversation,session,research,subconscious,exchange" doc:"only threads of this kind; exchanges (single requests of other programs) appear only with kind=exchange"`
	Status ponder.Status `query:"status" enum:"created,thinking,paused,completed,failed,cancelled" doc:"only items with this status"`
}

type manyThreads struct {
	Link string `header:"Link" doc:"URL of the next page"`
	Body struct {
		Success bool     `json:"success"`
		Count   int      `json:"thread_count"`
		Threads []Thread `json:"threads" nullable:"false"`
		Next    string   `json:"next_cursor,omitempty" doc:"cursor of the next page; absent on the last"`
	}
}

func (a *api) listThreads(ctx context.Context, in *listThreads) (*manyThreads, error) {
	filter := ponder.Filter{Kind: in.Kind, Status: in.Status}
	if in.Kind == "" {
		filter.Without = ponder.KindExchange
	}
	list, next, err := a.threadPage(ctx, in.Page, filter)
	if err != nil {
		return nil, err
	}
	out := &manyThreads{}
	out.Body.Success, out.Body.Count, out.Body.Threads, out.Body.Next = true, len(list), []Thread{}, next
	for _, info := range list {
		out.Body.Threads = append(out.Body.Threads, a.threadOf(info))
	}
	out.Link = linkTo("/api/threads", url.Values{"kind": {string(in.Kind)}, "status": {string(in.Status)}, "limit": {strconv.Itoa(in.Limit)}}, next)
	return out, nil
}

type openThread struct {
	OnceKey
	Body *struct {
		Title string `json:"title,omitempty" maxLength:"200" doc:"title in lists"`
		Model string `json:"model,omitempty" maxLength:"200" doc:"provider/model of the answers; default: as configured"`
	}
}

type oneThread struct {
	Body struct {
		Success bool            `json:"success"`
		ID      ponder.ThreadID `json:"thread_id"`
		Thread  Thread          `json:"thread"`

		Related []ponder.ThreadID `json:"beside,omitempty" doc:"other threads of the same conversation, such as its research, oldest first; deletion includes them"`
	}
}

func (a *api) openThread(ctx context.Context, in *openThread) (*oneThread, error) {
	owner, c := auth.CallerOf(ctx).Owner, Conversation{}
	if in.Body != nil {
		c.Title, c.Model = strings.Join(strings.Fields(in.Body.Title), " "), strings.TrimSpace(in.Body.Model)
	}
	const route = "POST /api/threads"
	id := in.threadID(owner, route)
	if err := a.checkKeyUnused(ctx, in.Key, id); err != nil {
		return nil, err
	}
	_, err := a.runOnce(ctx, onceID{owner, route, in.Key}, bodyDigest(c), func() (string, error) { return string(id), a.Service.Open(ctx, owner, id, c) })
	if errors.Is(err, ponder.ErrTaken) && in.Key != "" {
		return a.openedBefore(ctx, id, c)
	}
	if err != nil {
		return nil, a.apiError(inConversation(err))
	}
	return a.getThread(ctx, &ThreadPath{string(id)})
}

// inConversation renames the model field of an error.
func inConversation(err error) error {
	var known *Error
	if errors.As(err, &known) && known.Field == "model_id" {
		return app.InField("model", err)
	}
	return err
}

// openedBefore answers a repeated request, unless the requests differ.
func (a *api) openedBefore(ctx context.Context, id ponder.ThreadID, c Conversation) (*oneThread, error) {
	info, err := a.ownedThread(ctx, string(id), ponder.KindConversation)
	if err != nil {
		return nil, keyUsedError()
	}
	fresh := info.Head == 0 // titles can change later
	if fresh && (!isTitleOf(c.Title, info.Title) || c.Title == "" && info.Title != "") || c.Model != "" && info.Model != "" && !strings.HasSuffix(info.Model, c.Model) {
		return nil, reusedKeyError()
	}
	return a.getThread(ctx, &ThreadPath{string(id)})
}

func (a *api) getThread(ctx context.Context, in *ThreadPath) (*oneThread, error) {
	info, err := a.ownedThread(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out := &oneThread{}
	out.Body.Success, out.Body.ID, out.Body.Thread = true, info.ID, a.threadOf(info)
	out.Body.Related, err = a.relatedThreads(ctx, info)
	return out, err
}

type threadOutput struct {
	Body struct {
		Success bool            `json:"success"`
		ID      ponder.ThreadID `json:"thread_id"`
		Message string          `json:"message"`
	}
}

func toldOf(id ponder.ThreadID, message string) *threadOutput {
	out := &threadOutput{}
	out.Body.Success, out.Body.ID, out.Body.Message = true, id, message
	return out
}

func (a *api) deleteThread(ctx context.Context, in *ThreadPath) (*threadOutput, error) {
	info, err := a.ownedThread(ctx, in.ID)
	switch {
	case err != nil:
		return nil, err
	case info.Kind == ponder.KindSubconscious:
		return nil, wrongState("the thread is the subconscious: forget its entries one by one")
	}
	also, err := completions.RelatedThreads(ctx, a.Store, info.Owner, info.ID)
	if err != nil {
		return nil, a.apiError(err)
	}
	for _, one := range append(also, info) { // last, so that a failed request can be repeated
		if err := a.removeThread(ctx, one); err != nil {
			return nil, err
		}
	}
	return toldOf(info.ID, "the thread with its memories and files is erased"), nil
}

type exportThread struct {
	ThreadPath
	Format string `query:"format" enum:"jsonl,json,markdown,html" default:"jsonl" doc:"jsonl: a header, then one event per line; for sessions and research also json: all data, and markdown or html: a report"`
	Known  string `header:"If-None-Match" doc:"ETag of your export"`
}

func (a *api) exportThread(ctx context.Context, in *exportThread) (*bodyFunc, error) {
	info, err := a.ownedThread(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	ids, err := a.relatedThreads(ctx, info)
	if err != nil {
		return nil, err
	}
	if in.Format != "jsonl" && info.Kind != ponder.KindSession && info.Kind != ponder.KindResearch {
		return nil, a.apiError(app.Invalidf("format", "a %s has no report; use jsonl", info.Kind))
	}
	doc, err := a.Service.Report(ctx, info.ID, in.Format)
	if err != nil {
		return nil, a.apiError(err)
	}
	deliver := a.deliverDocument(doc, in.Known, false)
	if len(ids) == 0 {
		return deliver, nil
	}
	return &bodyFunc{func(hc huma.Context) {
		hc.SetHeader("Link", linksTo(ids, "export"))
		deliver.Body(hc)
	}}, nil
}

type Turn struct {
	Message string       `json:"message_id"` // an event id
	Run     ponder.RunID `json:"run_id,omitempty"`
	Status  string       `json:"status" enum:"answering,answered,failed"`
	Answer  string       `json:"answer"` // so far
	Model   string       `json:"model,omitempty"`
	Error   string       `json:"error_message"` // empty on success

	Untrusted []ponder.UntrustedSource `json:"untrusted_from,omitempty" doc:"text of strangers that the model had read: its source, and the seq of its event"`
	Approvals []app.Approval           `json:"approvals,omitempty" doc:"questions of Ponder that the turn asked: answer them with POST /api/threads/{id}/approvals/{approval_id}"`
}

const (
	answering = "answering"
	answered  = "answered"
	failed    = "failed"
)

// maxReason is in bytes.
const maxReason = 300

func turnOf(v *chat.TurnView) Turn {
	t := Turn{Message: v.Message, Run: v.Run, Status: answering, Answer: v.Text.Stored()}
	if t.Answer != "" {
		t.Model, t.Untrusted = v.Model, v.Untrusted
	}
	for _, ev := range v.Questions {
		t.Approvals = append(t.Approvals, app.NewApproval(ev))
	}
	switch {
	case v.Status == ponder.Completed:
		t.Status = answered
	case v.IsOver():
		t.Status, t.Error = failed, textkit.Truncate(textkit.OneLine(v.Reason), maxReason)
	}
	return t
}

// workOn is idempotent with and without a key.
type workOn struct {
	ThreadPath
	OnceKey
	Body *struct {
		Model string `json:"model,omitempty" maxLength:"200" doc:"continue with this provider/model"`
	}
}

// workOnThread serves threads that other processes changed.
func (a *api) workOnThread(ctx context.Context, in *workOn) (*threadOutput, error) {
	info, err := a.ownedThread(ctx, in.ID)
	switch {
	case err != nil:
		return nil, err
	case info.Status.Ended():
		return nil, wrongState("the thread is %s: no work remains", info.Status)
	case info.Status == ponder.Paused:
		return nil, wrongState("the thread is paused: resume it first")
	case info.Held && info.Kind != ponder.KindConversation: // which may have a new message
		return toldOf(info.ID, "work on the thread is already running"), nil
	}
	model := ""
	if in.Body != nil {
		model = strings.TrimSpace(in.Body.Model)
	}
	if err := a.Service.Go(ctx, info.ID, model); err != nil {
		return nil, a.apiError(inConversation(err))
	}
	return toldOf(info.ID, "work on the thread is running"), nil
}

type stopThread struct {
	ThreadPath
	OnceKey
	Body *struct {
		Seen string `json:"seen,omitempty" maxLength:"400000" doc:"part of the answer that the user has seen; Ponder keeps only this part"`
	}
}

func (a *api) stopThread(ctx context.Context, in *stopThread) (*threadOutput, error) {
	info, err := a.ownedThread(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	cause := in.causeKey(info.Owner, "stop "+string(info.ID))
	if cause != "" {
		if before, err := a.sentInputs(ctx, info.ID, cause); err != nil || before != nil {
			return toldOf(info.ID, "the work was already stopped"), err
		}
	}
	if info.Open == 0 && info.Status == ponder.Thinking { // not started yet
		if err := a.awaitState(ctx, info.ID, ackTimeout, func(i ponder.Info) bool { return i.Open > 0 || i.Status != ponder.Thinking }); err != nil {
			return nil, a.apiError(err)
		}
	}
	run, err := a.openRun(ctx, info.ID)
	switch {
	case err != nil:
		return nil, a.apiError(err)
	case run == "":
		return nil, wrongState("no work is running on the thread")
	}
	order := ponder.Steer{Do: ponder.Cancel}
	if in.Body != nil {
		order.Content = in.Body.Seen
	}
	if _, err := a.sendCommands(ctx, info.ID, ponder.Event{Run: run, Cause: cause, Body: order}); err != nil {
		return nil, err
	}
	a.startWork(ctx, info)
	err = a.awaitState(ctx, info.ID, ackTimeout, func(i ponder.Info) bool { return i.Open == 0 || i.Status.Ended() })
	if err != nil {
		return nil, a.apiError(err)
	}
	return toldOf(info.ID, "the work is stopped"), nil
}

// openRun prefers the chat run; empty if no run is open.
func (a *api) openRun(ctx context.Context, id ponder.ThreadID) (run ponder.RunID, err error) {
	open, err := ponder.OpenRuns(ctx, a.Store, id)
	for one, mode := range open {
		if mode == chat.Name || run == "" || open[run] != chat.Name && one > run {
			run = one
		}
	}
	return run, err
}

type listEvents struct {
	ThreadPath
	EventCursor
	Cursor int64 `query:"cursor" minimum:"0" doc:"next_cursor of the previous page; same as after"`
	Limit  int   `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"maximum number of items of a JSON answer"`
	Inner  bool  `query:"inner" doc:"JSON: also the inner thoughts of a conversation, which are hidden otherwise"`
}

type manyEvents struct {
	Success bool            `json:"success"`
	ID      ponder.ThreadID `json:"thread_id"`
	Count   int             `json:"event_count"`
	Events  []Event         `json:"events" nullable:"false"`
	Next    string          `json:"next_cursor,omitempty" doc:"cursor of the next page; absent on the last"`

	Related []ponder.ThreadID `json:"beside,omitempty" doc:"other threads of the same conversation; their events have separate lists"`
}

func (a *api) listEvents(ctx context.Context, in *listEvents) (*bodyFunc, error) {
	info, err := a.ownedThread(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	after := max(in.startSeq(), ponder.Seq(in.Cursor))
	return &bodyFunc{func(hc huma.Context) {
		r, w := humago.Unwrap(hc)
		if wantsEvents(r) {
			a.streamEvents(w, r, info, after)
			return
		}
		page, err := a.eventsAfter(ctx, info.ID, after, in.Limit, in.Inner)
		if err == nil {
			page.Related, err = a.relatedThreads(ctx, info)
		}
		if err != nil {
			a.writeError(hc, err)
			return
		}
		if link := linkTo("/api/threads/"+url.PathEscape(string(info.ID))+"/events", url.Values{"limit": {strconv.Itoa(in.Limit)}}, page.Next); link != "" {
			hc.SetHeader("Link", link)
		}
		a.writeJSON(hc, http.StatusOK, page)
	}}, nil
}

func (a *api) eventsAfter(ctx context.Context, id ponder.ThreadID, after ponder.Seq, most int, inner bool) (page manyEvents, err error) {
	page = manyEvents{Success: true, ID: id, Events: []Event{}}
	var last ponder.Seq
	for ev, err := range a.Store.Events(ctx, id, after) {
		switch {
		case err != nil:
			return page, err
		case ev.Internal && !(inner && isInnerThought(ev)):
			continue
		case len(page.Events) == most:
			page.Next = strconv.FormatInt(int64(last), 10)
			return page, nil
		}
		shown, err := eventOf(ev)
		if err != nil {
			return page, err
		}
		page.Events, last = append(page.Events, shown), ev.Seq
		page.Count = len(page.Events)
	}
	return page, nil
}

// isInnerThought reports whether a user may see an internal event on request: a reflection, or a thought
// before an answer.
func isInnerThought(ev ponder.Event) bool {
	switch b := ev.Body.(type) {
	case ponder.InnerMonologue:
		return true
	case ponder.Thought:
		return b.Kind == chat.Thinking
	}
	return false
}
