// Package agui serves the Agent-User Interaction protocol (AG-UI), so that pages of CopilotKit and others show Ponder's
// work live: answers, thoughts, searches and the state of a session.
//
// agui.go has the route, input.go parses requests, and events.go encodes the events.
package agui

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/compat/ways"
	"ponder/internal/stream"
)

const Path = "/agui"

type api struct{ desk *compat.Dispatcher }

// New returns the routes.
func New(desk *compat.Dispatcher) map[string]http.Handler {
	a := &api{desk}
	return map[string]http.Handler{"POST " + Path: desk.Handle(auth.Read, a.handleRun, refuse)}
}

func refuse(w http.ResponseWriter, f *compat.APIError) {
	body := map[string]any{"type": "RUN_ERROR", "message": f.Detail, "code": http.StatusText(f.Status)}
	if f.Field != "" {
		body["field"] = f.Field
	}
	_ = compat.Reply(w, f.Status, body)
}

// Refuse writes a refusal of the guard.
func Refuse(w http.ResponseWriter, status int, detail string) {
	refuse(w, &compat.APIError{Status: status, Detail: detail})
}

// A run is a request with its parsed options.
type run struct {
	*api
	owner   string
	in      *input
	options ways.Options
}

func (a *api) handleRun(w http.ResponseWriter, r *http.Request, owner string) error {
	var in input
	body, err := compat.Read(r, &in)
	if err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	one := &run{api: a, owner: owner, in: &in}
	if one.options, err = in.readOptions(); err != nil {
		return err
	}
	job, reply, answered, err := one.begin(r, body)
	if err != nil {
		return err
	}
	past, err := pastPauses(r.Context(), a.desk, job)
	if err != nil {
		return err
	}
	e := &encoder{Writer: stream.NewPlainWriter(w), desk: a.desk, in: &in, job: job, past: past}
	e.startRun()
	if reply.text != "" || reply.mind != nil {
		e.addReply(reply)
	}
	if job.Thread == "" || reply.ends {
		e.finishRun(map[string]any{"type": "success"}, nil)
		_ = e.Flush()
		return nil
	}
	if a.desk.EncodeJob(r.Context(), job, job.Fresh, e) {
		answered()
	}
	if e.interrupted != nil && !e.over { // the stream stopped at a pause
		e.finishRun(map[string]any{"type": "interrupt", "interrupts": []any{e.interrupted}}, nil)
		_ = e.Flush()
	}
	return nil
}

// pastPauses returns the pauses of a job that have ended.
func pastPauses(ctx context.Context, d *compat.Dispatcher, job compat.Job) (map[string]bool, error) {
	if job.Thread == "" || job.Fresh {
		return nil, nil
	}
	state, err := ways.ReadState(ctx, d, job)
	past := make(map[string]bool)
	last := ""
	for _, p := range state.Parts {
		if p.Kind == compat.Paused {
			last, past[p.Item] = p.Item, true
		}
	}
	if state.Status == ponder.Paused {
		delete(past, last)
	}
	return past, err
}

// A reply is a text of Ponder itself, before the events of a job.
type reply struct {
	text string
	mind json.RawMessage // the subconscious
	ends bool            // no job follows
}

// begin finds or starts the job of a run.
func (u *run) begin(r *http.Request, body []byte) (job compat.Job, out reply, answered func(), err error) {
	ctx := r.Context()
	answered = func() {}
	if u.in.Forwarded.Session != "" && len(u.in.Resume) == 0 && u.in.Forwarded.Command == "" {
		job, err = u.findJob(ctx, u.in.Forwarded.Session)
		return job, out, answered, err
	}
	text := u.in.question()
	c, isCommand := ways.ParseCommand(cmp.Or(u.in.Forwarded.Command, text))
	w, err := u.options.FindWay()
	if err != nil {
		return job, out, answered, err
	}
	if isCommand && c.Options.Way != "" {
		u.options = u.options.Merge(c.Options)
		if w, err = u.options.FindWay(); err != nil {
			return job, out, answered, err
		}
	}
	reads := w.Kind == ""
	if isCommand && c.Options.Way == "" {
		reads = c.Name == ways.Status || c.Name == ways.Report
	}
	if !reads || len(u.in.Resume) > 0 {
		if _, err := compat.May(r, auth.Think); err != nil {
			return job, out, answered, err
		}
	}
	switch {
	case len(u.in.Resume) > 0:
		job, err = u.resumeAll(ctx)
	case isCommand && c.Name == ways.Tick:
		out, err = u.readMind(ctx, true)
	case isCommand && c.Options.Way == "":
		job, out, err = u.applyCommand(ctx, c)
	default:
		if isCommand {
			u.in.setQuestion(c.Text)
		}
		if w.Kind == "" {
			out, err = u.readMind(ctx, false)
			break
		}
		job, answered, err = u.start(r, body)
	}
	return job, out, answered, err
}

func (u *run) readMind(ctx context.Context, tick bool) (reply, error) {
	m, err := ways.ReadMind(ctx, u.desk, u.owner, tick)
	return reply{m.Text, m.JSON, true}, err
}

func (u *run) findJob(ctx context.Context, id string) (compat.Job, error) {
	if len(id) > ways.MaxName {
		return compat.Job{}, compat.InvalidField("session", "session: expected an id of a session")
	}
	return u.desk.FindJob(ctx, u.owner, strings.TrimPrefix(id, "thr_"))
}

// applyCommand applies a command to the named session, or to the newest work of the thread.
func (u *run) applyCommand(ctx context.Context, c ways.Command) (job compat.Job, out reply, err error) {
	if u.in.Forwarded.Session != "" {
		job, err = u.findJob(ctx, u.in.Forwarded.Session)
	} else {
		job, err = u.newestJob(ctx)
	}
	if err != nil {
		return job, out, err
	}
	out.text, err = ways.Apply(ctx, u.desk, job, c)
	out.ends = c.Name != ways.Resume && c.Name != ways.Answer
	return job, out, err
}

func (u *run) newestJob(ctx context.Context) (compat.Job, error) {
	c, err := ways.OpenContext(ctx, u.desk, u.owner, u.in.ThreadID)
	if err != nil {
		return compat.Job{}, err
	}
	job, found, err := c.Newest(ctx)
	if err == nil && !found {
		err = &compat.APIError{Status: http.StatusConflict, Detail: "this thread has no work yet: ask a question first"}
	}
	return job, err
}

// start begins work in the context of the thread. Tools of the client need an exchange, for which the client keeps the
// conversation.
func (u *run) start(r *http.Request, body []byte) (compat.Job, func(), error) {
	messages, system, err := u.in.toMessages()
	if err != nil {
		return compat.Job{}, nil, err
	}
	a, err := u.options.NewRequest(u.desk, u.owner, messages...)
	if err != nil {
		return compat.Job{}, nil, err
	}
	a.System = system
	if a.Tools, err = u.in.toTools(); err != nil {
		return compat.Job{}, nil, err
	}
	if len(a.Tools) > 0 && a.Model.Kind == compat.Chat {
		return u.desk.BeginOnce(r, body, a)
	}
	a.Tools = nil
	a.Key = cmp.Or(r.Header.Get("Idempotency-Key"), "agui\n"+u.in.ThreadID+"\n"+u.in.RunID)
	c, err := ways.OpenContext(r.Context(), u.desk, u.owner, u.in.ThreadID)
	if err != nil {
		return compat.Job{}, nil, err
	}
	job, err := c.Begin(r.Context(), a, false)
	if err == nil {
		context.AfterFunc(r.Context(), job.Forget)
	}
	return job, func() {}, err
}

// resumeAll answers the interrupts of an earlier run and returns its work.
func (u *run) resumeAll(ctx context.Context) (job compat.Job, err error) {
	var decisions []ponder.ApprovalDecision
	for i, entry := range u.in.Resume {
		kind, id, ok := strings.Cut(entry.ID, ":")
		if !ok {
			return job, compat.InvalidField("resume", "resume[%d].interruptId: it is unknown", i)
		}
		id, question, _ := strings.Cut(id, ":")
		if job, err = u.findJob(ctx, id); err != nil {
			return job, err
		}
		switch {
		case kind == confirmInterrupt:
			decisions = append(decisions, ponder.ApprovalDecision{ID: question, Approved: entry.isApproved()})
		case kind != planInterrupt && kind != pauseInterrupt:
			err = compat.InvalidField("resume", "resume[%d].interruptId: it is unknown", i)
		case entry.isApproved():
			_, err = ways.Apply(ctx, u.desk, job, ways.Command{Name: ways.Resume})
		default:
			_, err = ways.Apply(ctx, u.desk, job, ways.Command{Name: ways.Cancel})
		}
		if err != nil {
			return job, err
		}
	}
	if len(decisions) == 0 {
		return job, nil
	}
	js, err := json.Marshal(decisions)
	if err != nil {
		return job, err
	}
	return ways.Decide(ctx, u.desk, u.owner, job.Thread, "agui-"+app.Letters(app.Sum(string(js))), decisions...)
}
