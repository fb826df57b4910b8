package a2a

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"ponder"
	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/compat/ways"
	"ponder/llm"
)

// Limits of a message.
const (
	maxParts     = 100
	maxMessageID = 200 // bytes
	maxMedia     = 20
)

// A sent is the outcome of a message: a task, or a message without one.
type sent struct {
	task    *task
	message *sdk.Message
}

// send applies a message: it starts a task, or continues one.
func (s *Server) send(ctx context.Context, req *sdk.SendMessageRequest) (out sent, err error) {
	owner, err := ownerOf(ctx, auth.Think)
	if err != nil {
		return out, err
	}
	s.restoreTexts(req)
	msg, err := readMessage(req.Message)
	if err != nil {
		return out, err
	}
	o, err := readOptions(req)
	if err != nil {
		return out, err
	}
	if req.Message.TaskID != "" {
		out.task, err = s.continueTask(ctx, owner, req.Message, msg)
	} else {
		out, err = s.startTask(ctx, owner, req.Message, msg, o)
	}
	if err == nil && out.task != nil && req.Config != nil && req.Config.PushConfig != nil {
		config := *req.Config.PushConfig
		config.TaskID = sdk.TaskID(out.task.id)
		_, err = s.addConfig(ctx, owner, &config)
	}
	return out, err
}

func readOptions(req *sdk.SendMessageRequest) (ways.Options, error) {
	o, err := ways.ReadOptions(req.Metadata)
	if err != nil {
		return o, err
	}
	more, err := ways.ReadOptions(req.Message.Metadata)
	return o.Merge(more), err
}

// restoreTexts restores the long texts that [Server.silent] cut. The data of parts becomes JSON before, which is smaller.
func (s *Server) restoreTexts(req *sdk.SendMessageRequest) {
	if req.Message != nil {
		for _, p := range req.Message.Parts {
			if p == nil {
				continue
			}
			if d, ok := p.Content.(sdk.Data); ok {
				if js, err := json.Marshal(d.Value); err == nil {
					p.Content = sdk.Data{Value: json.RawMessage(js)}
				}
			}
		}
	}
	s.texts.Restore(req)
}

// readMessage checks a message and returns its content.
func readMessage(m *sdk.Message) (out llm.Message, err error) {
	switch {
	case m == nil:
		return out, invalid("message: it is required")
	case m.Role != sdk.MessageRoleUser:
		return out, invalid("message.role: expected ROLE_USER")
	case m.ID == "" || len(m.ID) > maxMessageID:
		return out, invalid("message.messageId: expected 1 to %d bytes", maxMessageID)
	case len(m.Parts) == 0 || len(m.Parts) > maxParts:
		return out, invalid("message.parts: expected 1 to %d parts", maxParts)
	}
	var texts []string
	out.Role = llm.User
	for i, p := range m.Parts {
		if p == nil {
			return out, invalid("message.parts[%d]: it is null", i)
		}
		switch c := p.Content.(type) {
		case sdk.Text:
			texts = append(texts, string(c))
		case sdk.Data:
			js, ok := c.Value.(json.RawMessage)
			if !ok {
				return out, invalid("message.parts[%d].data: it cannot be encoded", i)
			}
			texts, p.Content = append(texts, "```json\n"+string(js)+"\n```"), nil
		case sdk.Raw:
			if strings.HasPrefix(p.MediaType, "text/") {
				texts = append(texts, strings.ToValidUTF8(string(c), "\ufffd"))
				continue
			}
			out.Parts = append(out.Parts, llm.Part{Media: &llm.Media{Type: p.MediaType, Name: p.Filename, Data: c}})
		case sdk.URL:
			media, ok := compat.MediaAt(string(c))
			if !ok {
				return out, invalid("message.parts[%d].url: expected %s", i, compat.Elsewhere)
			}
			media.Type, media.Name = p.MediaType, p.Filename
			out.Parts = append(out.Parts, llm.Part{Media: &media})
		}
	}
	for _, p := range out.Parts {
		if p.Media.Type == "" || len(out.Parts) > maxMedia {
			return out, invalid("message.parts: expected at most %d files, each with a mediaType", maxMedia)
		}
	}
	out.Parts = append([]llm.Part{{Text: strings.TrimSpace(strings.Join(texts, "\n\n"))}}, out.Parts...)
	return out, nil
}

// startTask starts a task in the context of the message.
func (s *Server) startTask(ctx context.Context, owner string, m *sdk.Message, msg llm.Message, o ways.Options) (out sent, err error) {
	if c, ok := ways.ParseCommand(msg.Text()); ok {
		switch {
		case c.Options.Way != "":
			o, msg.Parts[0].Text = o.Merge(c.Options), c.Text
		case c.Name == ways.Tick:
			out.message, err = s.mindMessage(ctx, owner, m.ContextID, true)
			return out, err
		default:
			return out, invalid("message.taskId: /%s needs the task that it is for", c.Name)
		}
	}
	w, err := o.FindWay()
	if err != nil {
		return out, err
	}
	if w.Kind == "" {
		out.message, err = s.mindMessage(ctx, owner, m.ContextID, false)
		return out, err
	}
	a, err := o.NewRequest(s.Desk, owner, msg)
	if err != nil {
		return out, err
	}
	a.Key = strings.Join([]string{"a2a", m.ContextID, m.ID, compat.KeyText(msg.Text())}, "\n") // clients may reuse an id for other words
	name, fresh := m.ContextID, false
	if name == "" {
		name, fresh = ways.NewName(owner, a.Key), true
	}
	c, err := ways.OpenContext(ctx, s.Desk, owner, name)
	if err != nil {
		return out, err
	}
	job, err := c.Begin(ctx, a, fresh)
	if err != nil {
		return out, err
	}
	job.Forget()
	out.task, err = s.readTask(ctx, owner, job.ID(), job)
	return out, err
}

func (s *Server) mindMessage(ctx context.Context, owner, name string, tick bool) (*sdk.Message, error) {
	mind, err := ways.ReadMind(ctx, s.Desk, owner, tick)
	if err != nil {
		return nil, err
	}
	var data any
	if err := json.Unmarshal(mind.JSON, &data); err != nil {
		return nil, fmt.Errorf("read the subconscious: %w", err)
	}
	m := sdk.NewMessage(sdk.MessageRoleAgent, sdk.NewTextPart(mind.Text), sdk.NewDataPart(data))
	m.ContextID = name
	return m, nil
}

// continueTask steers a running task, or answers its question.
func (s *Server) continueTask(ctx context.Context, owner string, m *sdk.Message, msg llm.Message) (*task, error) {
	t, err := s.findTask(ctx, owner, m.TaskID)
	if err != nil {
		return nil, err
	}
	text := msg.Text()
	c, isCommand := ways.ParseCommand(text)
	switch {
	case m.ContextID != "" && m.ContextID != t.context:
		return nil, invalid("message.contextId: the task belongs to another context")
	case t.pending != nil && !isCommand:
		return s.confirmTask(ctx, owner, t, m, msg)
	case t.state.Status.Ended():
		return nil, sdk.NewError(sdk.ErrUnsupportedOperation, "the task has ended: send the message without taskId, with contextId "+t.context)
	case isCommand && c.Options.Way != "":
		return nil, invalid("message: /%s starts a task: send it without taskId", c.Name)
	case t.job.Kind == compat.Chat && (!isCommand || c.Name != ways.Cancel):
		return nil, sdk.NewError(sdk.ErrUnsupportedOperation, "a conversation answers one message at a time: wait for the end of the task, or send /cancel")
	}
	if _, err := ways.Follow(ctx, s.Desk, t.job, text); err != nil {
		return nil, err
	}
	return s.readTask(ctx, owner, t.id, t.job)
}

// confirmTask posts the answer of the user about a waiting call, as part of the task.
func (s *Server) confirmTask(ctx context.Context, owner string, t *task, m *sdk.Message, msg llm.Message) (*task, error) {
	a, err := ways.Options{}.NewRequest(s.Desk, owner, msg)
	if err != nil {
		return nil, err
	}
	a.Thread, a.Key = t.job.Thread, strings.Join([]string{"a2a", t.id, m.ID, compat.KeyText(msg.Text())}, "\n")
	a.Note = &ponder.Observation{Sensor: taskSensor, Content: t.id}
	job, err := s.Desk.Begin(ctx, a)
	if err != nil {
		return nil, err
	}
	job.Forget()
	return s.readTask(ctx, owner, t.id, job)
}

func (h *handler) SendMessage(ctx context.Context, req *sdk.SendMessageRequest) (sdk.SendMessageResult, error) {
	out, err := h.send(ctx, req)
	if err != nil {
		return nil, h.protocolError(err)
	}
	if out.message != nil {
		return out.message, nil
	}
	var history *int
	if req.Config != nil {
		history = req.Config.HistoryLength
	}
	if req.Config == nil || !req.Config.ReturnImmediately {
		if err := h.awaitTask(ctx, out.task); err != nil {
			return nil, h.protocolError(err)
		}
	}
	t, err := h.findTask(ctx, auth.CallerOf(ctx).Owner, sdk.TaskID(out.task.id))
	if err != nil {
		return nil, h.protocolError(err)
	}
	task, err := h.render(ctx, t, history, true)
	if err != nil {
		return nil, h.protocolError(err)
	}
	return task, nil
}
