package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/internal/placement"
	"ponder/internal/report"
	"ponder/internal/textkit"
	"ponder/knowledge/recall"
	"ponder/mode/chat"
	"ponder/mode/deep"
	"ponder/mode/research"
	"ponder/mode/session"
	"ponder/store/sqlite"
)

// A SessionView is the fold of a session or a research. It is not safe for concurrent use.
type SessionView struct {
	App   *App
	Store ponder.Store
	Id    ponder.ThreadID

	View     session.View
	Research *ResearchFold // the research that View mirrors; nil for a session
	Seen     ponder.Seq    // the newest event in View
	ReadAt   time.Time
}

func (a *App) SessionView(store ponder.Store, id ponder.ThreadID) *SessionView {
	return &SessionView{App: a, Store: store, Id: id, View: session.NewView(), ReadAt: time.Now()}
}

// Read applies the events up to last; zero means the head.
func (w *SessionView) Read(ctx context.Context, last ponder.Seq) error {
	w.View = w.View.Calibrate(w.App.Calibration(ctx, w.Store))
	for ev, err := range w.Store.Events(ctx, w.Id, w.Seen) {
		if err != nil {
			return fmt.Errorf("read %s: %w", w.Id, err)
		}
		if last > 0 && ev.Seq > last {
			return nil
		}
		w.Apply(ev)
	}
	return nil
}

func (w *SessionView) Apply(ev ponder.Event) bool {
	if ev.Seq <= w.Seen {
		return false
	}
	if w.Research == nil && w.View.Session.Run == "" {
		w.Research = newResearchFold(ev)
	}
	if w.Seen, w.ReadAt = ev.Seq, time.Now(); w.Research != nil {
		w.Research.applyEvent(ev)
		w.View = asSession(w.Research.View)
	} else {
		w.View = w.View.Apply(ev)
	}
	return true
}

// CurrentView returns the view with the time since its newest event.
func (w *SessionView) CurrentView() session.View {
	if w.Research != nil {
		return asSession(w.Research.View.WithElapsed(time.Since(w.ReadAt)))
	}
	return w.View.WithElapsed(time.Since(w.ReadAt))
}

const threadSource = "ponder"

func (w *SessionView) Keep(ctx context.Context, store *sqlite.Store) {
	s := w.View.Session
	if s.Status != ponder.Completed || strings.TrimSpace(s.Final) == "" {
		return
	}
	err := w.keepSession(context.WithoutCancel(ctx), store, s)
	if err != nil {
		slog.Warn("cannot remember the session", "thread", w.Id, "error", err)
	}
}

func (w *SessionView) keepSession(ctx context.Context, store *sqlite.Store, s session.Session) error {
	library, err := w.App.LibraryIn(ctx, store)
	if err != nil {
		return err
	}
	defer library.Release()
	it := recall.Item{
		Kind: recall.KindThread, Title: textkit.Truncate(textkit.OneLine(s.Question), MaxTitle), Text: s.Question + "\n\n" + s.Final,
		Source: threadSource, ExternalID: string(w.Id),
	}
	if s.Completed != nil {
		it.Date = *s.Completed
	}
	_, err = library.Remember(ctx, it)
	return err
}

// A ResearchFold is the fold of a research, beside its session image.
type ResearchFold struct {
	View  research.View
	since *research.Report // the report that it updates
	File  string
}

func newResearchFold(ev ponder.Event) *ResearchFold {
	b, ok := ev.Body.(ponder.RunStarted)
	if !ok || b.Mode != research.Name {
		return nil
	}
	var o ResearchStart
	_ = json.Unmarshal(b.Options, &o)
	return &ResearchFold{View: research.NewView(), since: o.Since, File: textkit.OneLine(o.Report)}
}

func ReadResearch(ctx context.Context, log ponder.Log, id ponder.ThreadID) (*ResearchFold, error) {
	l := &ResearchFold{View: research.NewView()}
	for ev, err := range log.Events(ctx, id, 0) {
		if err != nil {
			return l, fmt.Errorf("read %s: %w", id, err)
		}
		l.applyEvent(ev)
	}
	return l, nil
}

func FoldResearch(ctx context.Context, log ponder.Log, id ponder.ThreadID) (research.View, *research.Report, error) {
	l, err := ReadResearch(ctx, log, id)
	return l.View, l.since, err
}

func (l *ResearchFold) applyEvent(ev ponder.Event) {
	run := l.View.Research.Run
	if l.View = l.View.Apply(ev); l.View.Research.Run != run {
		if begun := newResearchFold(ev); begun != nil {
			l.since, l.File = begun.since, begun.File
		}
	}
}

// Approval returns the commands that run the waiting plan of the research. plan replaces it, unless
// it is nil.
func (l *ResearchFold) Approval(plan *ponder.Plan) (list []ponder.Event, err error) {
	r := l.View.Research
	if l.View.Proposal == nil || r.Status != ponder.Paused {
		return nil, Errorf(Conflict, "", "no plan of %s waits for approval", r.ID)
	}
	if plan != nil {
		if err := research.CheckPlan(*plan, r.Setup.Web, r.Setup.Memory || len(r.Setup.Docs) > 0); err != nil {
			return nil, Invalidf("plan", "%w", err)
		}
		args, err := json.Marshal(ponder.Plan{Steps: plan.Steps, Terms: plan.Terms, Web: plan.Web, Memory: plan.Memory})
		if err != nil {
			return nil, fmt.Errorf("encode a plan: %w", err)
		}
		list = append(list, ponder.Event{Run: r.Run, Body: ponder.Steer{Do: ponder.SetPlan, Args: args}})
	}
	return append(list, ponder.Event{Run: r.Run, Body: ponder.RunResumed{Reason: "the user approved the plan"}}), nil
}

func (l *ResearchFold) Report() report.Research { return report.NewResearch(l.View, l.since) }

func asSession(v research.View) session.View {
	r := v.Research
	out := session.NewView()
	out.CutShort = r.CutShort != "" && r.CutShort != "time"
	out.BrokeOff, out.Refused = v.BrokeOff, r.Refused
	out.Pinned, out.Banned, out.Notes = v.Pinned, v.Banned, v.Notes
	s := &out.Session
	s.ID, s.Run, s.Question, s.Status, s.Model = r.ID, r.Run, r.Question, r.Status, r.Model
	s.Created, s.Started, s.Paused, s.Completed = timeOrNil(r.Started), timeOrNil(r.Started), timeOrNil(r.Paused), timeOrNil(r.Completed)
	s.Final, s.StopReason, s.End, s.Error = r.Answer, r.StopReason, r.End, r.Error
	s.Minutes, s.Budget, s.Usage = r.Budget.Seconds/60, r.Budget, r.Usage
	s.Metadata = session.Metadata{Docs: r.Setup.Docs, Memory: r.Setup.Memory, Web: r.Setup.Web, WithoutModel: r.Setup.WithoutModel || r.WithoutModel}
	s.Progress = session.Progress{Questions: len(v.Questions), Percentage: r.Percentage, Elapsed: r.Elapsed, Focus: FocusOf(v)}
	for _, q := range v.Questions {
		as := questionOf(q)
		switch as.State {
		case session.Explored:
			s.Progress.Explored++
		case session.Dropped:
			s.Progress.Dropped++
		}
		out.Questions = append(out.Questions, as)
	}
	for _, w := range v.Steering {
		out.Steering = append(out.Steering, session.SteerCommand{
			ID: w.ID, Order: w.Order, Content: w.Content, Target: w.Target, Offset: w.At, Created: w.Created,
			Seq: w.Seq, Effect: w.Effect, Refused: w.Refused, Cancelled: w.Cancelled, At: w.Effective, Origin: w.Origin,
		})
	}
	for _, e := range v.Evidence {
		out.Sources = append(out.Sources, session.Source{ID: e.ID, Source: e.Source, Title: e.Title, Start: e.Start, End: e.End, Cited: e.Cited})
	}
	return out
}

func questionOf(q research.Question) session.Question {
	out := session.Question{
		ID: q.ID, Parent: q.Parent, Text: q.Text, Priority: q.Priority, Why: q.Why, By: q.By, Explored: q.Explored, Insights: q.Insights, State: session.Open,
	}
	switch {
	case q.Dropped:
		out.State = session.Dropped
	case q.Explored:
		out.State = session.Explored
	}
	return out
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func FocusOf(v research.View) string {
	if v.Research.Status != ponder.Thinking {
		return ""
	}
	for _, q := range slices.Backward(v.Queries) {
		if !q.Done {
			return textkit.OneLine(q.Tool + ": " + q.Text)
		}
	}
	for _, m := range slices.Backward(v.Timeline) {
		if m.Message != "" && m.Error == "" {
			return textkit.OneLine(m.Message)
		}
	}
	return ""
}

func (w *SessionView) AsReport() *report.Research {
	if w.Research == nil {
		return nil
	}
	r := w.Research.Report()
	return &r
}

func rerunSources(v research.View) Sources {
	s := v.Research.Setup
	return Sources{Docs: s.Docs, Memory: s.Memory, Web: s.Web, OtherTools: s.Others, Patience: OncePatience, Research: true, Persona: v.Research.Persona.Name}
}

func (w *SessionView) SoFar() string {
	if w.Research != nil {
		return textkit.Count(len(w.Research.View.Evidence), "passage", "passages")
	}
	return textkit.Count(w.View.Session.Progress.Thoughts, "thought", "thoughts")
}

// IsInterrupted reports whether a thread should run but has no holder. A conversation gets some
// time: see [ponder.Info.Interrupted].
func IsInterrupted(info ponder.Info) bool {
	if info.Kind == ponder.KindConversation {
		return info.Interrupted(time.Now())
	}
	return info.Status == ponder.Thinking && !info.Held
}

func Fold(ctx context.Context, log ponder.Log, id ponder.ThreadID) (session.View, error) {
	v := session.NewView()
	for ev, err := range log.Events(ctx, id, 0) {
		if err != nil {
			return v, fmt.Errorf("read %s: %w", id, err)
		}
		v = v.Apply(ev)
	}
	return v, nil
}

// ReportTalk returns the id of the conversation about a research.
func ReportTalk(id ponder.ThreadID) ponder.ThreadID {
	return ponder.ThreadID("thr_" + Letters(Sum("questions about a report", string(id))))
}

// ReportAttachment returns a report for the conversation about it, and its bytes.
func ReportAttachment(r report.Research) (ponder.AttachmentAdded, []byte) {
	text := r.Material()
	sum := sha256.Sum256([]byte(text))
	name := "report of " + textkit.Truncate(textkit.OneLine(r.Question), MaxTitle/2)
	return ponder.AttachmentAdded{Content: text, Name: name, Media: "text/markdown", Hash: hex.EncodeToString(sum[:]), Bytes: int64(len(text))}, []byte(text)
}

// HasAttachment reports whether the newest attachment of a conversation has a hash.
func HasAttachment(ctx context.Context, log ponder.Log, id ponder.ThreadID, hash string) (has bool, err error) {
	for ev, err := range log.Events(ctx, id, 0) {
		if err != nil {
			return false, fmt.Errorf("read %s: %w", id, err)
		}
		if b, ok := ev.Body.(ponder.AttachmentAdded); ok {
			has = b.Hash == hash
		}
	}
	return has, nil
}

// FoldAny folds a session, or a research as a session.
func FoldAny(ctx context.Context, log ponder.Log, info ponder.Info) (session.View, error) {
	if info.Kind == ponder.KindResearch {
		v, _, err := FoldResearch(ctx, log, info.ID)
		return asSession(v), err
	}
	return Fold(ctx, log, info.ID)
}

// AnsweredResearch returns the report of a research to update; nil without a name.
func (a *App) AnsweredResearch(ctx context.Context, name string) (*research.Report, error) {
	if name == "" {
		return nil, nil
	}
	store, err := a.OpenReadOnly(ctx)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	info, err := a.FindThread(ctx, store, name, ponder.KindResearch)
	if err != nil {
		return nil, err
	}
	v, _, err := FoldResearch(ctx, store, info.ID)
	if err != nil {
		return nil, err
	}
	if v.Research.Answer == "" {
		return nil, Invalidf("since", "research %s has no answer yet: see `ponder session show %s`", info.ID, info.ID)
	}
	return report.OlderReport(v), nil
}

// AckWhilePaused makes an unheld, paused session acknowledge its commands.
func (w *SessionView) AckWhilePaused(ctx context.Context, store ponder.Store) error {
	info, err := store.Thread(ctx, w.Id)
	if err != nil {
		return fmt.Errorf("read the status of %s: %w", w.Id, err)
	}
	if info.Held || info.Status != ponder.Paused {
		return nil
	}
	mind, err := engine.New(engine.Config{Store: store, Modes: writeOnlyModes(Modes(ChatSetup{}, nil)), Node: placement.CurrentNode()})
	if err != nil {
		return err
	}
	if err := mind.Open(ctx); err != nil {
		return fmt.Errorf("steer %s: %w", w.Id, err)
	}
	return errors.Join(w.holdPaused(ctx, mind, info.Head), mind.Close(context.WithoutCancel(ctx)))
}

// holdPaused holds a paused session to write acknowledgements. It releases the session if a
// process resumes it after head.
func (w *SessionView) holdPaused(ctx context.Context, mind *engine.Engine, head ponder.Seq) error {
	hold, letGo := context.WithCancel(ctx)
	defer letGo()
	go func() {
		for ev, err := range ponder.Follow(hold, w.Store, w.Id, head) {
			if err != nil {
				return
			}
			if _, ok := ev.Body.(ponder.RunResumed); ok {
				letGo()
				return
			}
		}
	}()
	err := mind.Work(hold, w.Id)
	if errors.Is(err, ponder.ErrHeld) || hold.Err() != nil && ctx.Err() == nil {
		return nil // its holder acknowledges
	}
	return err
}

// writeOnlyModes returns modes that write acknowledgements but make no calls.
func writeOnlyModes(list []ponder.Mode) []ponder.Mode {
	list = slices.Clone(list)
	for i, m := range list {
		list[i].Wakes = nil
		list[i].Start = func(r ponder.Run) ponder.State { return writesOnly{m.Start(r)} }
		if m.Load != nil {
			list[i].Load = func(r ponder.Run, js []byte) (ponder.State, error) {
				s, err := m.Load(r, js)
				return writesOnly{s}, err
			}
		}
	}
	return list
}

// A writesOnly is a state that only wants writes.
type writesOnly struct{ ponder.State }

func (s writesOnly) Apply(ev ponder.Event) ponder.State { return writesOnly{s.State.Apply(ev)} }

func (s writesOnly) Next(now ponder.Moment) (do []ponder.Action) {
	for _, want := range s.State.Next(now) {
		if _, ok := want.(ponder.Write); ok {
			do = append(do, want)
		}
	}
	return do
}

// MarshalJSON implements [json.Marshaler]; a checkpoint is that of the inner state.
func (s writesOnly) MarshalJSON() ([]byte, error) { return json.Marshal(s.State) }

type (
	View     = session.View
	Session  = session.Session
	Progress = session.Progress
	Question = session.Question
	Source   = session.Source
	Usage    = session.Usage

	ResearchView   = research.View
	ResearchChunks = research.References

	TurnView        = chat.TurnView
	ReflectionView  = chat.ReflectionView
	PendingMessages = chat.PendingMessages
	MessageText     = chat.Message
	ChatOptions     = chat.Options
)

// States of closed questions.
const (
	Exploring = session.Exploring
	Explored  = session.Explored
	Dropped   = session.Dropped
)

const (
	DeepAsked   = chat.DeepAsked // the sensor that requests a reflection
	DeepFailed  = chat.DeepFailed
	DeepRefused = chat.DeepRefused // the hourly limit of reflections is reached
	Diagram     = deep.Mermaid
)

func NewTurnView(message string, seq ponder.Seq) TurnView { return chat.NewTurnView(message, seq) }

// WritesReply reports whether the calls of an action write answers of conversations.
func WritesReply(key string) bool { return chat.WritesAnswer(key) }

// WritesFindings reports whether the calls of an action write the answer of a research.
func WritesFindings(key string) bool { return research.WritesAnswer(key) }
