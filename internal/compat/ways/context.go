package ways

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/compat"
	"ponder/internal/textkit"
	"ponder/llm"
)

// A Context is a sequence of work under one name of a client: a session of ACP, a context of A2A. Its conversation is
// one thread. Sessions and research have their own threads; internal events link them to the conversation. The first
// work needs no conversation.
type Context struct {
	Desk  *compat.Dispatcher
	Owner string
	Name  string // a thread id without prefix, or any name of the client

	base ponder.ThreadID // of the first work
	home ponder.ThreadID // the conversation; equals base if that is one, or does not exist
	info ponder.Info     // of base; zero: it does not exist
}

// linkSensor marks the internal event that links other work to a conversation.
const linkSensor = "compat.job"

// MaxName limits the name of a context, in bytes.
const MaxName = 200

// OpenContext returns the context of a name. A new context has a name of [NewName] or of the client.
func OpenContext(ctx context.Context, d *compat.Dispatcher, owner, name string) (*Context, error) {
	if name == "" || len(name) > MaxName || textkit.Clean(name) != name {
		return nil, compat.InvalidField("context", "context: expected 1 to %d bytes of text", MaxName)
	}
	c := &Context{Desk: d, Owner: owner, Name: name, base: deriveThread(owner, "context", name)}
	if IsName(name) {
		own := ponder.ThreadID("thr_" + name)
		info, err := d.Store.Thread(ctx, own)
		switch {
		case err == nil && info.Owner == owner:
			c.base, c.info = own, info
		case err != nil && !errors.Is(err, ponder.ErrNoThread) && !errors.Is(err, ponder.ErrRemoved):
			return nil, fmt.Errorf("look for a context: %w", err)
		}
	}
	if c.info.ID == "" {
		info, err := d.Store.Thread(ctx, c.base)
		if err != nil && !errors.Is(err, ponder.ErrNoThread) && !errors.Is(err, ponder.ErrRemoved) {
			return nil, fmt.Errorf("look for a context: %w", err)
		}
		if err == nil {
			c.info = info
		}
	}
	if c.home = c.base; c.info.ID != "" && c.info.Kind != ponder.KindConversation {
		c.home = deriveThread(owner, "home", string(c.base))
	}
	return c, nil
}

// NewName returns the name of a new context. An equal key gives an equal name; an empty one a random name.
func NewName(owner, key string) string {
	if key == "" {
		return strings.TrimPrefix(ponder.NewID("thr"), "thr_")
	}
	return strings.TrimPrefix(string(deriveThread(owner, "new", key)), "thr_")
}

// IsName reports whether a name has the form of a thread id.
func IsName(name string) bool {
	const letters = 26
	return len(name) == letters && !strings.ContainsFunc(name, func(r rune) bool {
		return !('0' <= r && r <= '9' || 'A' <= r && r <= 'Z')
	})
}

func deriveThread(owner, kind, name string) ponder.ThreadID {
	return ponder.ThreadID("thr_" + app.Letters(app.Sum("ways", kind, owner, name)))
}

// Exists reports whether the context has work.
func (c *Context) Exists() bool { return c.info.ID != "" }

// Title returns the title of the first work.
func (c *Context) Title() string { return c.info.Title }

// Begin starts a request in the context, and notes the name of the context on its thread. It knows the earlier work of the context. The caller opens a stream, or calls
// Forget. A repeated key returns the same job. fresh allows Begin to create the thread that the context names, so the
// name must come from [NewName].
func (c *Context) Begin(ctx context.Context, a compat.Request, fresh bool) (compat.Job, error) {
	w, err := c.beginJob(ctx, a, fresh)
	if err == nil {
		err = c.nameThread(ctx, w.Thread)
	}
	return w, err
}

func (c *Context) beginJob(ctx context.Context, a compat.Request, fresh bool) (compat.Job, error) {
	thinks := a.Model.Kind != compat.Chat
	if thinks && a.Key != "" && len(a.Messages) > 0 {
		a.Cause = keyCause(a.Key) + app.Letters(app.Sum(a.Messages[len(a.Messages)-1].Text()))
	}
	if !c.Exists() {
		return c.beginFirst(ctx, a, fresh)
	}
	if thinks && a.Key != "" {
		cause, err := c.firstCause(ctx)
		if err != nil {
			return compat.Job{}, err
		}
		if strings.HasPrefix(cause, keyCause(a.Key)) {
			a.At = c.base
			return c.Desk.Begin(ctx, a)
		}
		a.At = deriveThread(c.Owner, "job", string(c.base)+" "+a.Key)
	}
	said, err := c.Transcript(ctx)
	if err != nil {
		return compat.Job{}, err
	}
	if !thinks {
		a.At, a.Known = c.home, append(said, a.Known...)
		return c.Desk.Begin(ctx, a)
	}
	question := a.Messages[len(a.Messages)-1].Text()
	if len(a.Messages) == 1 { // otherwise the client knows them
		a.Messages = append(said, a.Messages...)
	}
	w, err := c.Desk.Begin(ctx, a)
	if err == nil {
		err = c.linkJob(ctx, w, question)
	}
	return w, err
}

// keyCause returns the prefix of the causes of runs under a key.
func keyCause(key string) string { return "way-" + app.Letters(app.Sum(key)) + "-" }

func (c *Context) beginFirst(ctx context.Context, a compat.Request, fresh bool) (compat.Job, error) {
	if fresh && IsName(c.Name) {
		c.base = ponder.ThreadID("thr_" + c.Name)
		c.home = c.base
	}
	a.At = c.base
	w, err := c.Desk.Begin(ctx, a)
	if err == nil {
		c.info, err = c.Desk.Store.Thread(ctx, c.base)
	}
	if err == nil && c.info.Kind != ponder.KindConversation {
		c.home = deriveThread(c.Owner, "home", string(c.base))
	}
	return w, err
}

// firstCause returns the cause of the first run of the first work.
func (c *Context) firstCause(ctx context.Context) (string, error) {
	for ev, err := range c.Desk.Store.Events(ctx, c.base, 0) {
		if err != nil {
			return "", fmt.Errorf("read %s: %w", c.base, err)
		}
		if _, ok := ev.Body.(ponder.RunStarted); ok {
			return ev.Cause, nil
		}
	}
	return "", nil
}

// linkJob notes in the conversation that w belongs to the context.
func (c *Context) linkJob(ctx context.Context, w compat.Job, question string) error {
	title := textkit.TruncateBytes(strings.TrimSpace(question), 80)
	if err := c.Desk.Service.Open(ctx, c.Owner, c.home, app.Conversation{Title: cmp.Or(title, "conversation")}); err != nil && !errors.Is(err, ponder.ErrTaken) {
		return err
	}
	return c.appendNote(ctx, c.home, "link-"+w.ID(), w.ID())
}

// nameThread notes the name of the context on a thread with another name.
func (c *Context) nameThread(ctx context.Context, id ponder.ThreadID) error {
	if id == ponder.ThreadID("thr_"+c.Name) {
		return nil
	}
	return c.appendNote(ctx, id, nameCause, c.Name)
}

// nameCause makes the note of a name unique on a thread.
const nameCause = "context-name"

// appendNote appends an internal event once for a cause.
func (c *Context) appendNote(ctx context.Context, id ponder.ThreadID, cause, content string) error {
	_, err := c.Desk.Store.Append(ctx, id, 0, ponder.Event{
		ID: ponder.NewID("evt"), Cause: cause, Internal: true, Body: ponder.Observation{Content: content, Sensor: linkSensor},
	})
	if err != nil && !errors.Is(err, ponder.ErrTaken) {
		return fmt.Errorf("note on %s: %w", id, err)
	}
	return nil
}

// firstEvents limits the search for the name of a thread.
const firstEvents = 200

// NameOf returns the name of the context of a thread.
func NameOf(ctx context.Context, d *compat.Dispatcher, id ponder.ThreadID) (string, error) {
	for ev, err := range d.Store.Events(ctx, id, 0) {
		if err != nil {
			return "", fmt.Errorf("read %s: %w", id, err)
		}
		if b, ok := ev.Body.(ponder.Observation); ok && b.Sensor == linkSensor && ev.Internal && ev.Cause == nameCause {
			return b.Content, nil
		}
		if ev.Seq > firstEvents {
			break
		}
	}
	return strings.TrimPrefix(string(id), "thr_"), nil
}

// maxJobs limits the jobs of a context that are read, the newest ones.
const maxJobs = 200

// A Turn is a job of a context, with its question and answer. Open work has no answer.
type Turn struct {
	Job      string // see [compat.Job.ID]
	Kind     compat.JobKind
	Question string
	Answer   string
}

// Turns returns the work of the context, oldest first.
func (c *Context) Turns(ctx context.Context) (list []Turn, err error) {
	if !c.Exists() {
		return nil, nil
	}
	if c.base != c.home {
		t, err := c.readThinking(ctx, strings.TrimPrefix(string(c.base), "thr_"))
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	for ev, err := range c.Desk.Store.Events(ctx, c.home, 0) {
		if errors.Is(err, ponder.ErrNoThread) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", c.home, err)
		}
		switch b := ev.Body.(type) {
		case ponder.UserMessage:
			list = append(list, Turn{Job: fmt.Sprintf("%s-%d", strings.TrimPrefix(string(c.home), "thr_"), ev.Seq), Kind: compat.Chat, Question: b.Content})
		case ponder.AssistantMessage:
			if n := lastTalk(list); n >= 0 && !ev.Internal {
				list[n].Answer = strings.TrimSpace(list[n].Answer + "\n\n" + b.Content)
			}
		case ponder.Observation:
			if b.Sensor == linkSensor && ev.Internal && ev.Cause == "link-"+b.Content {
				list = append(list, Turn{Job: b.Content})
			}
		}
	}
	list = list[max(0, len(list)-maxJobs):]
	for i, t := range list {
		if t.Kind != "" {
			continue
		}
		if list[i], err = c.readThinking(ctx, t.Job); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(list, func(t Turn) bool { return t.Kind == "" }), nil
}

func lastTalk(list []Turn) int {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Kind == compat.Chat {
			return i
		}
	}
	return -1
}

// readThinking returns a zero Turn if the thread was removed.
func (c *Context) readThinking(ctx context.Context, id string) (t Turn, err error) {
	w, err := c.Desk.FindJob(ctx, c.Owner, id)
	if app.CodeOf(err) == app.NotFound {
		return t, nil
	}
	if err != nil {
		return t, err
	}
	t = Turn{Job: id, Kind: w.Kind}
	for ev, err := range c.Desk.Store.Events(ctx, w.Thread, 0) {
		if err != nil {
			return t, fmt.Errorf("read %s: %w", w.Thread, err)
		}
		if ev.Run.Parent() != "" {
			continue
		}
		switch b := ev.Body.(type) {
		case ponder.RunStarted:
			t.Question = cmp.Or(t.Question, b.Input)
		case ponder.RunFinished:
			t.Answer = b.Answer
		}
	}
	return t, nil
}

// Transcript returns the questions and answers of the context.
func (c *Context) Transcript(ctx context.Context) (list []llm.Message, err error) {
	turns, err := c.Turns(ctx)
	for _, t := range turns {
		list = append(list, llm.Say(llm.User, t.Question))
		if t.Answer != "" {
			list = append(list, llm.Say(llm.Assistant, t.Answer))
		}
	}
	return list, err
}

// Newest returns the newest job of the context. It returns false if there is none.
func (c *Context) Newest(ctx context.Context) (w compat.Job, found bool, err error) {
	turns, err := c.Turns(ctx)
	if err != nil || len(turns) == 0 {
		return w, false, err
	}
	w, err = c.Desk.FindJob(ctx, c.Owner, turns[len(turns)-1].Job)
	return w, err == nil, err
}
