package a2a

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/compat/ways"
	"ponder/internal/textkit"
)

// taskSensor marks the internal event that makes a message of a conversation part of an earlier task.
const taskSensor = "a2a.task"

// A task is a job under the id of its first message.
type task struct {
	id      string
	context string
	job     compat.Job // the newest turn
	state   ways.State
	pending []app.Approval // open questions of all turns
}

const maxTaskID = 60 // bytes

func noTask(id sdk.TaskID) error {
	return sdk.NewError(sdk.ErrTaskNotFound, fmt.Sprintf("there is no task %q", textkit.TruncateBytes(string(id), maxTaskID)))
}

// findTask returns a task of owner.
func (s *Server) findTask(ctx context.Context, owner string, id sdk.TaskID) (*task, error) {
	if id == "" || len(id) > maxTaskID {
		return nil, noTask(id)
	}
	job, err := s.Desk.FindJob(ctx, owner, string(id))
	if err != nil || job.Kind == compat.Exchange {
		if err == nil || s.Desk.APIErrorOf(err).Status == 404 {
			err = noTask(id)
		}
		return nil, err
	}
	return s.readTask(ctx, owner, string(id), job)
}

// readTask folds the log of a task. If its answer asked for approvals, the task continues with the turn of the answer.
func (s *Server) readTask(ctx context.Context, owner, id string, job compat.Job) (*task, error) {
	name, err := ways.NameOf(ctx, s.Desk, job.Thread)
	if err != nil {
		return nil, err
	}
	t := &task{id: id, context: name, job: job}
	for range maxConfirmations {
		if t.state, err = ways.ReadState(ctx, s.Desk, t.job); err != nil {
			return nil, err
		}
		if t.state.Status != ponder.Completed {
			return t, nil
		}
		asked, err := ways.FindAsked(ctx, s.Desk, t.job)
		if err != nil {
			return nil, err
		}
		t.pending = append(t.pending, asked...)
		next, found, err := s.findNext(ctx, owner, t)
		if err != nil || !found {
			return t, err
		}
		t.job = next
	}
	return t, nil
}

const maxConfirmations = 50 // of a task

// findNext returns the turn after t.job that belongs to the task.
func (s *Server) findNext(ctx context.Context, owner string, t *task) (job compat.Job, found bool, err error) {
	last := ponder.Seq(0)
	for ev, err := range s.Desk.Store.Events(ctx, t.job.Thread, t.job.After+1) {
		if err != nil {
			return job, false, fmt.Errorf("read %s: %w", t.job.Thread, err)
		}
		switch b := ev.Body.(type) {
		case ponder.UserMessage:
			last = ev.Seq
		case ponder.Observation:
			if b.Sensor == taskSensor && ev.Internal && b.Content == t.id && last > 0 {
				id := strings.TrimPrefix(string(t.job.Thread), "thr_") + "-" + strconv.FormatInt(int64(last), 10)
				job, err := s.Desk.FindJob(ctx, owner, id)
				return job, err == nil, err
			}
		}
	}
	return job, false, nil
}

// protocolState returns the state in the terms of the protocol. Paused work waits for input, such as /resume.
func (t *task) protocolState() sdk.TaskState {
	switch t.state.Status {
	case ponder.Completed:
		if t.pending != nil {
			return sdk.TaskStateInputRequired
		}
		return sdk.TaskStateCompleted
	case ponder.Failed:
		return sdk.TaskStateFailed
	case ponder.Cancelled:
		return sdk.TaskStateCanceled
	case ponder.Paused:
		return sdk.TaskStateInputRequired
	}
	return sdk.TaskStateWorking
}

func (t *task) TaskInfo() sdk.TaskInfo {
	return sdk.TaskInfo{TaskID: sdk.TaskID(t.id), ContextID: t.context}
}

// status returns the status with a message for users, if there is something to say.
func (t *task) status() sdk.TaskStatus {
	st := sdk.TaskStatus{State: t.protocolState()}
	at := cmp.Or(t.state.End.At, t.job.Started).UTC()
	st.Timestamp = &at
	text := ""
	switch {
	case t.state.PlanWaits:
		text = "The plan waits for approval. Answer yes to run it, no to cancel it, or with a question to add.\n\n" + t.state.Plan
	case t.state.Status == ponder.Paused:
		text = "Paused: " + cmp.Or(t.state.Reason, "until it is resumed") + ". Send /resume to continue."
	case t.pending != nil:
		text = t.state.End.Text
		for _, q := range t.pending {
			if !strings.Contains(text, q.Text()) {
				text += "\n\n" + q.Text()
			}
		}
	case t.state.Status.Ended() && t.state.Status != ponder.Completed:
		text = t.state.End.Reason
	case t.state.Status.Ended():
		text = t.state.End.StopReason
	}
	if text != "" {
		st.Message = t.newMessage("status-"+t.job.ID(), text)
		if t.pending != nil {
			st.Message.Metadata = map[string]any{"approvals": t.pending}
		}
	}
	return st
}

// newMessage returns a message of the agent. Its id is stable, so that a repeated event is recognized.
func (t *task) newMessage(id, text string) *sdk.Message {
	m := sdk.NewMessageForTask(sdk.MessageRoleAgent, t, sdk.NewTextPart(text))
	m.ID = id
	return m
}

// answerID is the id of the artifact with the answer.
const answerID = "answer"

const maxCited = 100

// toTask renders the task. A negative history means all of it.
func (t *task) toTask(question string, history int, artifacts bool) *sdk.Task {
	out := &sdk.Task{ID: sdk.TaskID(t.id), ContextID: t.context, Status: t.status()}
	out.Metadata = map[string]any{"way": ways.WayOf(t.job.Kind).ID, "thoughts": t.state.Thoughts, "questions": append([]string{}, t.state.Questions...)}
	if t.state.End.Model != "" {
		out.Metadata["model"], out.Metadata["tokens"] = t.state.End.Model, t.state.End.Usage.Total()
	}
	if t.state.Interim != "" && t.state.End.Text == "" {
		out.Metadata["interim"] = t.state.Interim
	}
	if artifacts && t.state.End.Text != "" {
		out.Artifacts = []*sdk.Artifact{t.newAnswer(t.state.End.Text)}
	}
	if history != 0 && question != "" {
		m := sdk.NewMessageForTask(sdk.MessageRoleUser, t, sdk.NewTextPart(question))
		m.ID = cmp.Or(t.job.Message, "question-"+t.id)
		out.History = []*sdk.Message{m}
	}
	return out
}

func (t *task) newAnswer(text string) *sdk.Artifact {
	a := &sdk.Artifact{ID: answerID, Name: answerID, Parts: sdk.ContentParts{{Content: sdk.Text(text), MediaType: "text/markdown"}}}
	if list := citations(t.state.Parts); len(list) > 0 {
		a.Metadata = map[string]any{"sources": list}
	}
	return a
}

// citations returns the cited sources once each.
func citations(parts []compat.Part) (list []map[string]string) {
	seen := make(map[string]bool)
	for _, p := range parts {
		for _, c := range p.Citations {
			at := cmp.Or(c.URL, c.File)
			if at == "" || seen[at] || len(list) == maxCited {
				continue
			}
			seen[at] = true
			list = append(list, map[string]string{"title": c.Title, "source": at, "quote": textkit.TruncateBytes(c.Quote, 300)})
		}
	}
	return list
}

// questionOf returns the question of a job.
func (s *Server) questionOf(ctx context.Context, job compat.Job) (string, error) {
	for ev, err := range s.Desk.Store.Events(ctx, job.Thread, job.After) {
		if err != nil {
			return "", fmt.Errorf("read %s: %w", job.Thread, err)
		}
		switch b := ev.Body.(type) {
		case ponder.UserMessage:
			return b.Content, nil
		case ponder.RunStarted:
			return b.Input, nil
		}
	}
	return "", nil
}

// render returns a task with its question.
func (s *Server) render(ctx context.Context, t *task, history *int, artifacts bool) (*sdk.Task, error) {
	first, err := s.Desk.FindJob(ctx, auth.CallerOf(ctx).Owner, t.id)
	if err != nil {
		return nil, err
	}
	question, err := s.questionOf(ctx, first)
	most := -1
	if history != nil {
		most = *history
	}
	return t.toTask(question, most, artifacts), err
}

func (h *handler) GetTask(ctx context.Context, req *sdk.GetTaskRequest) (*sdk.Task, error) {
	owner, err := ownerOf(ctx, auth.Read)
	if err != nil {
		return nil, err
	}
	t, err := h.findTask(ctx, owner, req.ID)
	if err != nil {
		return nil, h.protocolError(err)
	}
	out, err := h.render(ctx, t, req.HistoryLength, true)
	return out, h.protocolError(err)
}

// cancelWait limits the wait for the end of a cancelled task.
const cancelWait = 5 * time.Second

func (h *handler) CancelTask(ctx context.Context, req *sdk.CancelTaskRequest) (*sdk.Task, error) {
	owner, err := ownerOf(ctx, auth.Think)
	if err != nil {
		return nil, err
	}
	t, err := h.findTask(ctx, owner, req.ID)
	if err != nil {
		return nil, h.protocolError(err)
	}
	if t.state.Status.Ended() {
		return nil, sdk.NewError(sdk.ErrTaskNotCancelable, "the task has ended")
	}
	if err := h.Desk.Cancel(ctx, t.job); err != nil {
		return nil, h.protocolError(err)
	}
	waiting, cancel := context.WithTimeout(ctx, cancelWait)
	_, _ = h.Desk.Wait(waiting, t.job, func(compat.Part) error { return nil }, nil, nil) // then the state says more
	cancel()
	return h.GetTask(ctx, &sdk.GetTaskRequest{ID: req.ID})
}

const (
	defaultPage = 50
	maxPage     = 100
	maxListed   = 500 // threads
)

// ListTasks lists the tasks of a context, or else the newest task of each thread.
func (h *handler) ListTasks(ctx context.Context, req *sdk.ListTasksRequest) (*sdk.ListTasksResponse, error) {
	owner, err := ownerOf(ctx, auth.Read)
	if err != nil {
		return nil, err
	}
	from, size := 0, cmp.Or(req.PageSize, defaultPage)
	if req.PageToken != "" {
		if from, err = strconv.Atoi(req.PageToken); err != nil || from < 0 {
			return nil, invalid("pageToken: expected the nextPageToken of an answer")
		}
	}
	if size < 1 || size > maxPage {
		return nil, invalid("pageSize: expected 1 to %d", maxPage)
	}
	jobs, err := h.listJobs(ctx, owner, req.ContextID)
	if err != nil {
		return nil, h.protocolError(err)
	}
	out := &sdk.ListTasksResponse{Tasks: []*sdk.Task{}}
	history := 0
	if req.HistoryLength != nil {
		history = *req.HistoryLength
	}
	for _, job := range jobs {
		t, err := h.readTask(ctx, owner, job.ID(), job)
		if err != nil {
			return nil, h.protocolError(err)
		}
		if req.Status != "" && t.protocolState() != req.Status || req.StatusTimestampAfter != nil && !t.status().Timestamp.After(*req.StatusTimestampAfter) {
			continue
		}
		if out.TotalSize++; out.TotalSize <= from || len(out.Tasks) == size {
			continue
		}
		one, err := h.render(ctx, t, &history, req.IncludeArtifacts)
		if err != nil {
			return nil, h.protocolError(err)
		}
		out.Tasks = append(out.Tasks, one)
	}
	if from+len(out.Tasks) < out.TotalSize {
		out.NextPageToken = strconv.Itoa(from + len(out.Tasks))
	}
	out.PageSize = size
	return out, nil
}

// listJobs returns the jobs, newest first.
func (s *Server) listJobs(ctx context.Context, owner, name string) (list []compat.Job, err error) {
	if name != "" {
		c, err := ways.OpenContext(ctx, s.Desk, owner, name)
		if err != nil {
			return nil, err
		}
		turns, err := c.Turns(ctx)
		for i := len(turns) - 1; i >= 0 && err == nil; i-- {
			var job compat.Job
			job, err = s.Desk.FindJob(ctx, owner, turns[i].Job)
			list = append(list, job)
		}
		return list, err
	}
	all, err := s.Desk.Store.List(ctx, ponder.Filter{Owner: owner, Without: ponder.KindExchange, Limit: maxListed})
	if err != nil {
		return nil, err
	}
	for _, info := range all {
		if info.Kind != ponder.KindConversation && info.Kind != ponder.KindSession && info.Kind != ponder.KindResearch {
			continue
		}
		job, err := s.Desk.Newest(ctx, owner, info.ID)
		if err != nil {
			if s.Desk.APIErrorOf(err).Status == 404 { // a conversation without a message
				continue
			}
			return nil, err
		}
		list = append(list, job)
	}
	return list, nil
}
