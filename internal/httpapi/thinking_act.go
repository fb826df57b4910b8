package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/steering"
	"ponder/internal/stream"
	"ponder/mode/session"
)

// ackTimeout bounds the wait for an acknowledgement.
const ackTimeout = 5 * time.Second

type ActOn struct {
	SessionPath
	OnceKey
}

type target struct {
	ponder.Info
	run    ponder.RunID
	cause  string         // empty without a key
	before []ponder.Event // of an earlier request with the key
}

// steeredKinds are the kinds of threads that users pause, resume, cancel and steer.
var steeredKinds = []ponder.Kind{ponder.KindSession, ponder.KindResearch}

// resolveTarget returns a session or research that has not ended, except for a repeated request.
func (a *api) resolveTarget(ctx context.Context, id string, key OnceKey, route string) (t target, err error) {
	if t.Info, err = a.ownedThread(ctx, id, steeredKinds...); err != nil {
		return t, err
	}
	if t.cause = key.causeKey(auth.CallerOf(ctx).Owner, route+" "+string(t.ID)); t.cause != "" {
		if t.before, err = a.sentInputs(ctx, t.ID, t.cause); err != nil {
			return t, err
		}
	}
	err = a.withCalibrated(ctx, t.Info, func(v session.View) { t.run = v.Session.Run })
	switch {
	case err != nil || t.before != nil:
	case t.Status.Ended():
		err = wrongState("the session is %s: fork it to continue", t.Status)
	case t.run == "":
		err = wrongState("the session has no question")
	}
	return t, err
}

func wrongState(format string, args ...any) error {
	return huma.Error409Conflict(fmt.Sprintf(format, args...))
}

// sentInputs returns the inputs with a cause or its numbered variants.
func (a *api) sentInputs(ctx context.Context, id ponder.ThreadID, cause string) (list []ponder.Event, err error) {
	for ev, err := range a.Store.Events(ctx, id, 0) {
		if err != nil {
			return nil, a.apiError(err)
		}
		if ev.IsInput() && (ev.Cause == cause || strings.HasPrefix(ev.Cause, cause+"-")) {
			list = append(list, ev)
		}
	}
	return list, nil
}

func (a *api) sendCommand(ctx context.Context, t target, body ponder.Body) error {
	_, err := a.sendCommands(ctx, t.ID, ponder.Event{Run: t.run, Cause: t.cause, Body: body})
	return err
}

func (a *api) sendCommands(ctx context.Context, id ponder.ThreadID, commands ...ponder.Event) (sent []ponder.Event, err error) {
	for range 3 {
		sent, err = ponder.SendCommands(ctx, a.Store, id, commands...)
		if !errors.Is(err, ponder.ErrTaken) { // ErrTaken: a concurrent duplicate request
			break
		}
	}
	if errors.Is(err, ponder.ErrTaken) || err == nil && !sameCommands(sent, commands) {
		return nil, reusedKeyError()
	}
	return sent, a.commandError(err)
}

func (a *api) commandError(err error) error {
	switch {
	case errors.Is(err, ponder.ErrEnded):
		return wrongState("the session has already ended")
	case errors.Is(err, ponder.ErrStale):
		return huma.Error503ServiceUnavailable("the session is busy: try again")
	case err != nil:
		return a.apiError(err)
	}
	return nil
}

func (a *api) pauseSession(ctx context.Context, in *ActOn) (*sessionOutput, error) {
	t, err := a.resolveTarget(ctx, in.ID, in.OnceKey, "pause")
	switch {
	case err != nil:
		return nil, err
	case t.before != nil:
	case t.Status == ponder.Paused:
		return nil, wrongState("the session is already paused: resume it to continue")
	default:
		if err := a.sendCommand(ctx, t, ponder.RunPaused{Reason: "paused by the user"}); err != nil {
			return nil, err
		}
	}
	return a.actedReply(ctx, t.ID, "the session is paused; resume it to continue")
}

type goOnBody struct {
	Model string `json:"model_id,omitempty" maxLength:"200" doc:"continue with this provider/model"`
}

type resumeSession struct {
	ActOn
	Body *goOnBody
}

func (a *api) resumeSession(ctx context.Context, in *resumeSession) (*sessionOutput, error) {
	model := ""
	if in.Body != nil {
		model = in.Body.Model
	}
	t, err := a.resolveTarget(ctx, in.ID, in.OnceKey, "resume")
	switch {
	case err != nil:
		return nil, err
	case t.before != nil:
		return a.actedReply(ctx, t.ID, "the session was already resumed")
	case t.Status == ponder.Thinking && t.Held:
		return nil, wrongState("the session is already thinking")
	case t.Status == ponder.Paused:
		err = a.continueSession(ctx, t, model, ponder.Event{Run: t.run, Cause: t.cause, Body: ponder.RunResumed{Reason: "resumed by the user"}})
	default:
		err = a.Service.Go(ctx, t.ID, model)
	}
	if err != nil {
		return nil, a.apiError(err)
	}
	return a.actedReply(ctx, t.ID, "the session is thinking")
}

// continueSession resumes a session by commands, and pauses it again if work cannot start.
func (a *api) continueSession(ctx context.Context, t target, model string, commands ...ponder.Event) error {
	told := false
	err := app.Resume(ctx, a.Service, t.ID, model, func() error {
		_, err := a.sendCommands(ctx, t.ID, commands...)
		told = err == nil
		return err
	})
	if err != nil && told { // restore the pause
		_, again := ponder.SendCommands(ctx, a.Store, t.ID, ponder.Event{Run: t.run, Body: ponder.RunPaused{Reason: "it could not go on"}})
		err = errors.Join(err, again)
	}
	return err
}

func (a *api) cancelSession(ctx context.Context, in *ActOn) (*sessionOutput, error) {
	t, err := a.resolveTarget(ctx, in.ID, in.OnceKey, "cancel")
	if err != nil {
		return nil, err
	}
	if t.before == nil {
		if err := a.sendCommand(ctx, t, ponder.Steer{Do: ponder.Cancel}); err != nil {
			return nil, err
		}
	}
	a.startWork(ctx, t.Info)
	err = a.awaitState(ctx, t.ID, ackTimeout, func(info ponder.Info) bool { return info.Status.Ended() })
	if err != nil {
		return nil, a.apiError(err)
	}
	out, err := a.actedReply(ctx, t.ID, "the session is cancelled; its thoughts are kept")
	if err == nil && !out.Body.Status.Ended() {
		out.Body.Message = "the process that holds the session will cancel it"
	}
	return out, err
}

// startWork starts work without a holder.
func (a *api) startWork(ctx context.Context, info ponder.Info) {
	if info.Held {
		return
	}
	if err := a.Service.Go(ctx, info.ID, ""); err != nil { // the log keeps the command
		a.Logger.Warn("cannot start work on a command", "thread", info.ID, "error", err)
	}
}

// awaitState waits until ok. A timeout is no error.
func (a *api) awaitState(ctx context.Context, id ponder.ThreadID, most time.Duration, ok func(ponder.Info) bool) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	heads, stop := a.Store.Watch(id)
	defer stop()
	for {
		info, err := a.Store.Thread(context.WithoutCancel(ctx), id)
		if err != nil || ok(info) {
			return err
		}
		select {
		case <-heads:
		case <-ctx.Done():
			return nil
		}
	}
}

type Command struct {
	Order    string `json:"order,omitempty" enum:"add_question,drop_question,rank_question,rank,correct,pin_source,pin,ban_source,ban,budget,answer_now,undo" doc:"change to make" example:"budget"`
	Content  string `json:"content,omitempty" maxLength:"20000" doc:"question of add_question, or right fact of correct"`
	Question string `json:"question,omitempty" maxLength:"20000" doc:"for drop_question and rank_question: ID, such as q3, or text of the question"`
	Priority int    `json:"priority,omitempty" minimum:"1" maximum:"10" doc:"for add_question and rank_question"`
	Source   string `json:"source,omitempty" maxLength:"4000" doc:"for pin_source and ban_source: path, URL or evidence ID"`
	Limits
}

type commandList struct {
	requests []steering.Request
	at       []string // locations in the body
}

func (c *commandList) addCommand(one Command, at string) {
	c.requests = append(c.requests, steering.Request{
		Order: ponder.SteerOp(one.Order), Content: one.Content, Question: one.Question, Priority: one.Priority, Source: one.Source, Limits: one.toBudget(),
	})
	c.at = append(c.at, at)
}

func (c *commandList) addAll(list []Command) {
	for i, one := range list {
		c.addCommand(one, "body.wishes["+strconv.Itoa(i)+"]")
	}
}

func (c *commandList) locateErrors(err error) error {
	var wrong steering.Errors
	if !errors.As(err, &wrong) {
		return err
	}
	var details []error
	for _, e := range wrong {
		at := "body"
		if e.Index < len(c.at) {
			at = c.at[e.Index]
		}
		details = append(details, &huma.ErrorDetail{Location: at + "." + e.Field, Message: e.Message})
	}
	return huma.Error422UnprocessableEntity("validation failed", details...)
}

// commandEvents returns events with numbered causes, if cause is set. wrong has the commands that do not fit
// the session.
func (a *api) commandEvents(ctx context.Context, info ponder.Info, cause string, c commandList) (list []ponder.Event, wrong, err error) {
	var bodies []ponder.Steer
	var run ponder.RunID
	err = a.withCalibrated(ctx, info, func(v session.View) {
		run = v.Session.Run
		bodies, wrong = steering.ViewOf(v, info.Kind == ponder.KindResearch).Commands(c.requests)
	})
	if err == nil && run == "" {
		err = wrongState("the session has no question")
	}
	for i, b := range bodies {
		ev := ponder.Event{ID: ponder.NewID("evt"), Run: run, Cause: ponder.NewID("steer"), Body: b}
		if cause != "" {
			ev.Cause = fmt.Sprintf("%s-%d", cause, i+1)
		}
		list = append(list, ev)
	}
	joinGroup(list)
	return list, c.locateErrors(wrong), err
}

// joinGroup makes one undo revert all commands of a request.
func joinGroup(list []ponder.Event) {
	group := ponder.NewID("steer")
	for i := range list {
		if b, ok := list[i].Body.(ponder.Steer); ok && b.Group == "" {
			b.Group = group
			list[i].Body = b
		}
	}
}

// maxMoney returns the highest cost limit, or zero.
func maxMoney(commands []ponder.Event) (most ponder.Money) {
	for _, ev := range commands {
		b, _ := ev.Body.(ponder.Steer)
		most = max(most, steering.LimitsOf(b).Money)
	}
	return most
}

func sameCommands(stored, sent []ponder.Event) bool {
	return slices.EqualFunc(stored, sent, func(a, b ponder.Event) bool {
		a, b = stream.PublicEvent(a), stream.PublicEvent(b) // the store of clients has no paths
		x, okX := a.Body.(ponder.Steer)
		y, okY := b.Body.(ponder.Steer)
		if !okX || !okY {
			return a.Body.Type() == b.Body.Type()
		}
		return x.Do == y.Do && x.Content == y.Content && equalJSON(x.Args, y.Args)
	})
}

func equalJSON(a, b json.RawMessage) bool {
	var x, y any
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	if errors.Join(json.Unmarshal(a, &x), json.Unmarshal(b, &y)) != nil {
		return false
	}
	p, errP := json.Marshal(x)
	q, errQ := json.Marshal(y)
	return errors.Join(errP, errQ) == nil && string(p) == string(q)
}
