package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"ponder"
	"ponder/internal/locale"
	"ponder/internal/netaddr"
	"ponder/internal/textkit"
	"ponder/llm"
	"ponder/mode/chat"
	"ponder/tool/approval"
)

func (s *Service) Open(ctx context.Context, owner string, id ponder.ThreadID, c Conversation) error {
	if _, err := s.Store.Thread(ctx, id); err == nil {
		return ponder.ErrTaken
	}
	system, err := CleanSystem(c.System)
	if err != nil {
		return err
	}
	a := s.forOwner(owner)
	memory, _, err := s.defaultSources(ctx, owner, false, c.NoWeb)
	if err != nil {
		return err
	}
	t, err := a.ChatSetup(ctx, c.Model, memory)
	if err != nil {
		return OfModel(c.Model, err)
	}
	if c.Model != "" {
		if err := t.Check(ctx); err != nil {
			return OfModel(c.Model, err)
		}
	}
	if c.Persona != "" {
		if _, err := a.PersonaVoice(ctx, c.Persona); err != nil {
			return err
		}
	}
	thread := ponder.Thread{
		ID: id, Kind: ponder.KindConversation, Title: textkit.Truncate(textkit.OneLine(textkit.Clean(c.Title)), MaxTitle), Owner: owner, Created: time.Now(), Model: t.Name,
	}
	return s.continueThread(ctx, ponder.Info{Thread: thread}, func() error {
		if err := s.Log.Create(ctx, thread); err != nil {
			return err
		}
		return s.DB.ChangePrefs(ctx, id, func(w *threadPrefs) {
			*w = threadPrefs{Model: c.Model, NoWeb: c.NoWeb, Persona: c.Persona, System: system}
			w.setLocale(locale.ChoiceFrom(ctx))
		})
	})
}

func (s *Service) Say(ctx context.Context, info ponder.Info, key string, m Message) (ponder.Event, error) {
	text, err := CleanMessage(m.Content)
	if err == nil && text == "" && len(m.Media) == 0 {
		err = Invalidf("content", "no message to answer")
	}
	if err == nil && slices.ContainsFunc(m.Media, func(f llm.Media) bool { return f.URL != "" && !netaddr.IsPublicURL(f.URL) }) {
		err = Invalidf("media", "media: expected an https:// address in the public internet, or data")
	}
	if err != nil {
		return ponder.Event{}, err
	}
	m.Content = text
	if err := ParseDecision(ctx, s.Store, info.ID, &m.UserMessage); err != nil {
		return ponder.Event{}, err
	}
	known := threadSnapshot{info: info, since: time.Now()}
	if known.threadRecord, err = s.DB.readThread(ctx, info.ID); err != nil {
		return ponder.Event{}, err
	}
	if known.threadRecord, err = s.savePrefs(ctx, known, key, m); err != nil {
		return ponder.Event{}, err
	}
	var said ponder.Event
	err = s.continueWithQuota(ctx, known.token, info, func() error {
		said, err = s.postMessage(ctx, known, key, m)
		return err
	})
	return said, err
}

// savePrefs stores the changed preferences of a new message, and returns the thread's record
// afterwards.
func (s *Service) savePrefs(ctx context.Context, known threadSnapshot, key string, m Message) (threadRecord, error) {
	before, info := known.threadRecord, known.info
	system, err := CleanSystem(m.System)
	if err != nil {
		return before, err
	}
	system = cmp.Or(system, before.System)
	said := before.threadPrefs
	if m.After == "" { // a place is no reason to refuse a stale message
		said.setLocale(locale.ChoiceFrom(ctx))
	}
	if m.Model == "" && m.NoWeb == before.NoWeb && system == before.System && said == before.threadPrefs {
		return before, nil
	}
	if m.After != "" { // a stale message must change nothing
		return before, ponder.ErrStale
	}
	if err := s.checkUnsent(ctx, info.ID, key); err != nil {
		return before, err
	}
	if m.Model != "" {
		if err := s.changeModel(ctx, s.forOwner(info.Owner), info, m.Model); err != nil {
			return before, OfModel(m.Model, err)
		}
	}
	if err := s.DB.ChangePrefs(ctx, info.ID, func(w *threadPrefs) {
		w.NoWeb, w.System, w.Zone, w.Language = m.NoWeb, system, said.Zone, said.Language
	}); err != nil {
		return before, err
	}
	return s.DB.readThread(ctx, info.ID)
}

// setLocale sets what the client said about its user.
func (w *threadPrefs) setLocale(c locale.Choice) {
	w.Zone, w.Language = cmp.Or(c.Zone, w.Zone), cmp.Or(c.Language, w.Language)
}

func (s *Service) checkUnsent(ctx context.Context, id ponder.ThreadID, key string) error {
	if key == "" {
		return nil
	}
	for ev, err := range s.Store.Events(ctx, id, 0) {
		if err != nil {
			return err
		}
		if ev.IsInput() && ev.Cause == key {
			return ponder.ErrTaken
		}
	}
	return nil
}

func (s *Service) postMessage(ctx context.Context, known threadSnapshot, key string, m Message) (ponder.Event, error) {
	owner, id := known.info.Owner, known.info.ID
	before, told := s.backgrounds.backgroundFor(ctx, s, owner, id, m.Content)
	var list []ponder.Event
	if m.Deep {
		list = append(list, ponder.Event{Internal: true, Body: ponder.Observation{Content: m.Content, Sensor: chat.DeepAsked}})
	}
	list = append(list, ponder.Event{Cause: key, Body: m.UserMessage})
	behind := 0
	if m.Note != nil {
		list, behind = append(list, ponder.Event{Cause: NoteCause(key), Internal: true, Body: *m.Note}), 1
	}
	stored, err := s.postEvents(ctx, known, m.After, before, list)
	if errors.Is(err, ponder.ErrTaken) && len(before) > 0 { // another process delivered the escalation, or the key is used
		told = nil
		stored, err = s.postEvents(ctx, known, m.After, nil, list)
	}
	if err != nil {
		return ponder.Event{}, err
	}
	s.backgrounds.noteDelivered(ctx, s, owner, told)
	return stored[len(stored)-1-behind], nil
}

func (s *Service) postEvents(ctx context.Context, known threadSnapshot, after string, before, list []ponder.Event) ([]ponder.Event, error) {
	all := slices.Concat(before, list)
	for i := range all {
		all[i].ID = ponder.NewID("evt")
	}
	start := func(ctx context.Context) error { return s.startWork(ctx, known) }
	if after != "" {
		return s.rootEngine.PostAfter(ctx, known.info.ID, after, start, all...)
	}
	return s.rootEngine.Post(ctx, known.info.ID, start, all...)
}

// backgroundFeeds caches feeds by owner. It is safe for concurrent use.
type backgroundFeeds struct {
	mu   sync.Mutex
	list map[string]*BackgroundFeed
}

// forOwner requires u.mu.
func (u *backgroundFeeds) forOwner(owner string) *BackgroundFeed {
	if u.list[owner] == nil {
		u.list[owner] = &BackgroundFeed{Owner: owner}
	}
	return u.list[owner]
}

// backgroundFor returns the background events for a message, and their escalations. It only logs
// errors, which must not block a conversation.
func (u *backgroundFeeds) backgroundFor(ctx context.Context, s *Service, owner string, id ponder.ThreadID, said string) (list []ponder.Event, told []OpenEscalation) {
	if !s.Settings.Mind.Feeds() {
		return nil, nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	one, now := u.forOwner(owner), time.Now()
	err := one.Read(ctx, s.Store)
	if err == nil {
		list = one.Background(said, id, true, now)
		told, err = one.ClaimEscalations(ctx, s.Store, id, now)
	}
	if err != nil {
		slog.Warn("cannot deliver background entries of the subconscious", "error", err)
	}
	for _, e := range told {
		list = append(list, e.Observation())
	}
	return list, told
}

func (u *backgroundFeeds) noteDelivered(ctx context.Context, s *Service, owner string, list []OpenEscalation) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, e := range list {
		if err := u.forOwner(owner).NoteDelivered(context.WithoutCancel(ctx), s.Store, e); err != nil {
			slog.Warn("the subconscious may send a message twice", "error", err)
		}
	}
}

const MaxMessage = 4 << 20 // bytes

func CleanMessage(text string) (string, error) {
	switch {
	case len(text) > MaxMessage:
		return "", Invalidf("content", "the message has more than %s", textkit.Bytes(MaxMessage))
	case !utf8.ValidString(text):
		return "", Invalidf("content", "the message is not valid UTF-8")
	}
	return strings.TrimSpace(textkit.Clean(text)), nil
}

// CleanupTime limits a cleanup of thoughts.
const CleanupTime = 2 * time.Second

// An Approval is an open question to the user: whether to run a tool call that a model requested.
type Approval struct {
	ID        string          `json:"approval_id" doc:"ID of the question, which is that of its event" example:"evt_01KB2M8Q0V6T3YF9K2MXWPA7RD"`
	Code      string          `json:"code" doc:"what the user types to answer in a client of text: approve CODE" example:"WPA7RD"` // see [approval.ParseAnswer]
	Thread    ponder.ThreadID `json:"thread_id" doc:"conversation that asks" example:"thr_01KB2M8Q0V6T3YF9K2MXWPA7RC"`
	Tool      string          `json:"tool" doc:"tool to run" example:"remember"`
	Args      json.RawMessage `json:"args" doc:"arguments of the tool, exactly as Ponder will send them" example:"{\"text\": \"Anna likes tea.\"}"`
	Reason    string          `json:"reason" doc:"why Ponder asks" example:"the statement is not in your message"`
	Untrusted []string        `json:"untrusted_sources,omitempty" doc:"sources of untrusted text that the model had read" example:"[\"https://a.example/tea\"]"`
	Asked     time.Time       `json:"asked_at" doc:"time of the question" example:"2026-11-26T20:15:00Z"`
	Expires   time.Time       `json:"expires" doc:"until when an answer counts" example:"2026-11-27T20:15:00Z"`
}

// NewApproval returns the question of an event ApprovalRequested.
func NewApproval(ev ponder.Event) Approval {
	b, _ := ev.Body.(ponder.ApprovalRequested)
	return Approval{
		ID: ev.ID, Code: chat.ApprovalCode(ev.ID), Thread: ev.Thread, Tool: b.Tool, Args: b.Args, Reason: b.Reason, Untrusted: b.Untrusted, Asked: ev.Time, Expires: b.Expires,
	}
}

// Text returns the question as Markdown, for clients that show only text.
func (a Approval) Text() string {
	return approval.Question(a.Tool, a.Args, a.Reason, a.Code, a.Untrusted)
}

// CutQuestions returns an answer without the questions of Ponder after it. Some clients do not send
// them back.
func CutQuestions(answer string) string {
	own, _, _ := strings.Cut(answer, approval.QuestionStart)
	return own
}

// FindAnswered returns the open question of an owner that a text answers, such as "approve 3F9K2M". It
// reports whether there is one.
func FindAnswered(ctx context.Context, store ponder.Store, owner, text string) (a Approval, found bool, err error) {
	code, _, ok := approval.ParseAnswer(text)
	if !ok {
		return a, false, nil
	}
	open, err := OpenApprovals(ctx, store, owner)
	if err != nil {
		return a, false, err
	}
	a, err = FindApproval(open, code)
	return a, err == nil, nil
}

// OpenApprovals returns the open questions of an owner, the oldest first. It reads the conversations
// that changed within [chat.ApprovalTime].
func OpenApprovals(ctx context.Context, store ponder.Store, owner string) (list []Approval, err error) {
	now := time.Now()
	infos, err := store.List(ctx, ponder.Filter{Kind: ponder.KindConversation, Owner: owner})
	if err != nil {
		return nil, err
	}
	for _, info := range infos {
		if now.Sub(info.Updated) > chat.ApprovalTime {
			continue
		}
		open, err := ThreadApprovals(ctx, store, info.ID)
		if err != nil && !errors.Is(err, ponder.ErrNoThread) {
			return nil, err
		}
		list = append(list, open...)
	}
	slices.SortStableFunc(list, func(a, b Approval) int { return a.Asked.Compare(b.Asked) })
	return list, nil
}

// ThreadApprovals returns the open questions of a conversation.
func ThreadApprovals(ctx context.Context, store ponder.Store, id ponder.ThreadID) (list []Approval, err error) {
	var questions chat.PendingApprovals
	for ev, err := range store.Events(ctx, id, 0) {
		if err != nil {
			return nil, err
		}
		questions.Apply(ev)
	}
	for _, ev := range questions.Open(time.Now()) {
		list = append(list, NewApproval(ev))
	}
	return list, nil
}

// FindApproval returns the question with an ID or a code. It returns NotFound if list has none, and
// Invalid if a code is of several.
func FindApproval(list []Approval, name string) (found Approval, err error) {
	for _, a := range list {
		if a.ID == name {
			return a, nil
		}
		if !strings.EqualFold(a.Code, name) {
			continue
		}
		if found.ID != "" {
			return Approval{}, Invalidf("approval_id", "%.60q is the code of several questions: use the ID of one", name)
		}
		found = a
	}
	if found.ID == "" {
		err = NotFoundf("approval_id", "the question %.60q is not open: it was answered, has expired, or never existed", name)
	}
	return found, err
}

// DecisionMessage returns the message that answers open questions of a conversation.
func DecisionMessage(open []Approval, decisions ...ponder.ApprovalDecision) (m ponder.UserMessage, err error) {
	var lines []string
	for _, d := range decisions {
		a, err := FindApproval(open, d.ID)
		if err != nil {
			return m, err
		}
		verb := "Denied: "
		if d.Approved {
			verb = "Approved: "
		}
		lines = append(lines, verb+a.Tool)
		open = slices.DeleteFunc(slices.Clone(open), func(other Approval) bool { return other.ID == a.ID }) // one answer each
		m.Decisions = append(m.Decisions, ponder.ApprovalDecision{ID: a.ID, Approved: d.Approved})
	}
	if len(lines) == 0 {
		return m, Invalidf("approval_id", "no question to answer")
	}
	m.Content = strings.Join(lines, "\n")
	return m, nil
}

// ParseDecision turns a message that is exactly an answer to an open question of a conversation, such as
// "approve 3F9K2M", into a decision.
func ParseDecision(ctx context.Context, store ponder.Store, id ponder.ThreadID, m *ponder.UserMessage) error {
	code, approved, ok := approval.ParseAnswer(m.Content)
	if !ok || len(m.Decisions) > 0 || len(m.Media) > 0 {
		return nil
	}
	open, err := ThreadApprovals(ctx, store, id)
	if errors.Is(err, ponder.ErrNoThread) {
		return nil
	}
	if err != nil {
		return err
	}
	if a, err := FindApproval(open, code); err == nil {
		m.Decisions = []ponder.ApprovalDecision{{ID: a.ID, Approved: approved}}
	}
	return nil
}
