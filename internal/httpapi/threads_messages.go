package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"unicode"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"ponder"
	"ponder/internal/compat"
	"ponder/internal/netaddr"
	"ponder/internal/stream"
	"ponder/llm"
	"ponder/mode/chat"
)

type messageBody struct {
	Content string      `json:"content,omitempty" maxLength:"400000" doc:"text of the message" example:"What have I forgotten?"`
	Media   []llm.Media `json:"media,omitempty" maxItems:"20" doc:"images and other files for the model"`
	Deep    bool        `json:"deep,omitempty" doc:"request a reflection"`
	Model   string      `json:"model,omitempty" maxLength:"200" doc:"provider/model of the answer; default: as before"`
}

type postMessage struct {
	ThreadPath
	OnceKey
	WaitParam
	Body messageBody
}

func (in *postMessage) Resolve(huma.Context) []error {
	wrong, b := in.WaitParam.check(), in.Body
	if strings.TrimSpace(b.Content) == "" && len(b.Media) == 0 {
		wrong = append(wrong, &huma.ErrorDetail{Location: "body.content", Message: "the message is empty: send content, or a file in media"})
	}
	for i, m := range b.Media {
		where := fmt.Sprintf("body.media[%d]", i)
		switch {
		case len(m.Data) > 0 && m.URL != "", len(m.Data) == 0 && m.URL == "":
			wrong = append(wrong, &huma.ErrorDetail{Location: where, Message: "expected either data, in base64, or url"})
		case m.URL != "" && !netaddr.IsPublicURL(m.URL):
			wrong = append(wrong, &huma.ErrorDetail{Location: where + ".url", Message: "expected " + compat.Elsewhere + ", or data"})
		}
		if !strings.Contains(m.Type, "/") {
			wrong = append(wrong, &huma.ErrorDetail{Location: where + ".type", Message: "expected a media type, such as image/png", Value: m.Type})
		}
	}
	return wrong
}

type turnOutput struct {
	Success bool            `json:"success"`
	ID      ponder.ThreadID `json:"thread_id"`
	Message Event           `json:"message"`
	Turn    Turn            `json:"turn"`
}

func (a *api) postMessage(ctx context.Context, in *postMessage) (*bodyFunc, error) {
	info, err := a.ownedConversation(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	m := Message{UserMessage: ponder.UserMessage{Content: in.Body.Content, Media: in.Body.Media}, Deep: in.Body.Deep, Model: in.Body.Model}
	return a.startTurn(info, turnStart{in.OnceKey, in.WaitParam, m}), nil
}

func (a *api) ownedConversation(ctx context.Context, id string) (ponder.Info, error) {
	info, err := a.ownedThread(ctx, id)
	if err == nil && info.Kind != ponder.KindConversation {
		err = wrongState("the thread is of kind %s: send messages only to conversations", info.Kind)
	}
	return info, err
}

// A turnStart is a request with a message.
type turnStart struct {
	OnceKey
	WaitParam
	message Message
}

// startTurn sends a message, and answers with its turn.
func (a *api) startTurn(info ponder.Info, in turnStart) *bodyFunc {
	return &bodyFunc{func(hc huma.Context) {
		if r, w := humago.Unwrap(hc); wantsEvents(r) {
			a.streamTurn(hc, w, r, info, in)
			return
		}
		a.answerTurn(hc, info, in)
	}}
}

// postOnce appends a message, once for a key. It searches for an earlier one only after a refusal, because it
// must read the whole thread.
func (a *api) postOnce(ctx context.Context, info ponder.Info, in turnStart) (ponder.Event, error) {
	cause := in.causeKey(info.Owner, "message "+string(info.ID))
	ev, err := a.Service.Say(ctx, info, cause, in.message)
	if err != nil && cause != "" {
		if before, err := a.findPosted(ctx, info.ID, cause, in.message); err != nil || before.ID != "" {
			return before, err
		}
	}
	return ev, a.apiError(inConversation(err))
}

// findPosted returns the message of a cause, or a zero event. Different content is an error.
func (a *api) findPosted(ctx context.Context, id ponder.ThreadID, cause string, m Message) (ponder.Event, error) {
	sent, err := a.sentInputs(ctx, id, cause)
	if err != nil {
		return ponder.Event{}, err
	}
	for _, ev := range sent {
		if b, ok := ev.Body.(ponder.UserMessage); ok {
			if lettersOf(b.Content) != lettersOf(m.Content) || !reflect.DeepEqual(b.Media, m.Media) && len(b.Media)+len(m.Media) > 0 {
				return ponder.Event{}, reusedKeyError()
			}
			return ev, nil
		}
	}
	return ponder.Event{}, nil
}

// lettersOf returns the letters and digits, which survive cleaning.
func lettersOf(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			return r
		}
		return -1
	}, escapes.ReplaceAllString(text, ""))
}

var escapes = regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]`)

// postWatched also watches the turn.
func (a *api) postWatched(ctx context.Context, info ponder.Info, in turnStart) (ponder.Event, *stream.Watcher, error) {
	hub := a.Hub.Select(ctx)
	watch := hub.WatchHead(info) // before the append
	message, err := a.postOnce(ctx, info, in)
	if err != nil {
		watch.Close()
		return message, nil, err
	}
	if message.Seq <= info.Head { // repeated
		watch.Close()
		watch = hub.Watch(info.ID, message.Seq-1)
	}
	return message, watch, nil
}

// answerTurn waits for the turn, at most as long as requested.
func (a *api) answerTurn(hc huma.Context, info ponder.Info, in turnStart) {
	message, watch, err := a.postWatched(hc.Context(), info, in)
	if err != nil {
		a.writeError(hc, err)
		return
	}
	defer watch.Close()
	wait, _ := in.waitTime(0) // validated before
	view := chat.NewTurnView(message.ID, message.Seq)
	ctx, cancel := context.WithTimeout(hc.Context(), wait)
	defer cancel()
	defer context.AfterFunc(a.gone, cancel)()
	if err := a.followTurn(ctx, watch, &view); err != nil && ctx.Err() == nil {
		a.writeError(hc, err)
		return
	}
	shown, err := eventOf(message)
	if err != nil {
		a.writeError(hc, err)
		return
	}
	status := http.StatusAccepted
	if view.IsOver() {
		status = http.StatusOK
	}
	ok := !view.IsOver() || view.Status == ponder.Completed
	a.writeJSON(hc, status, turnOutput{Success: ok, ID: message.Thread, Message: shown, Turn: turnOf(&view)})
}

func (a *api) followTurn(ctx context.Context, watch *stream.Watcher, v *chat.TurnView) error {
	for !v.IsOver() {
		frames, err := watch.Next(ctx)
		if stream.IsWriteError(err) {
			v.Fail(noRoomText)
			return nil
		}
		if err != nil {
			return err
		}
		for _, f := range frames {
			if f.Seq > 0 && !v.IsOver() {
				a.applyFrame(ctx, v, f)
			}
		}
	}
	return nil
}

func (a *api) streamTurn(hc huma.Context, w http.ResponseWriter, r *http.Request, info ponder.Info, in turnStart) {
	message, watch, err := a.postWatched(r.Context(), info, in)
	if err != nil {
		a.writeError(hc, err)
		return
	}
	defer watch.Close()
	view := chat.NewTurnView(message.ID, message.Seq)
	a.sendFrames(w, r, watch, func(*stream.Writer) {}, func(f stream.Frame) ([]byte, string, bool) {
		if f.Seq == 0 {
			if _, ok := view.Round(f.Delta.Key); !ok || f.Delta.Text == "" {
				return nil, "", false
			}
			return f.JSON, deltaEvent, false
		}
		if f.Seq < message.Seq {
			return nil, "", false
		}
		a.applyFrame(r.Context(), &view, f)
		if f.Internal {
			return nil, "", view.IsOver()
		}
		return f.JSON, "", view.IsOver()
	}, func(*stream.Writer) bool {
		view.Fail(noRoomText)
		return false
	}, func(out *stream.Writer) {
		if js, err := json.Marshal(turnOf(&view)); err == nil && view.IsOver() {
			out.Event(0, turnEvent, js)
		}
	})
}

// turnEvent ends a turn stream.
const turnEvent = "turn"

// applyFrame fails the turn if a run ended unclaimed and no other can answer.
func (a *api) applyFrame(ctx context.Context, v *chat.TurnView, f stream.Frame) {
	var ev ponder.Event
	if err := ev.UnmarshalJSON(f.JSON); err != nil {
		a.Logger.Error("cannot read an event", "seq", f.Seq, "error", err)
		return
	}
	v.Apply(ev)
	if !v.IsUnclaimed(ev) {
		return
	}
	info, err := a.Store.Thread(ctx, ev.Thread)
	if b, ok := ev.Body.(ponder.RunFinished); ok && err == nil && info.Open == 0 && info.Status != ponder.Thinking {
		v.Fail(b.Reason)
	}
}
