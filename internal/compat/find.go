package compat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/textkit"
	"ponder/llm"
	"ponder/mode/chat"
)

const (
	maxContext  = 16 << 10 // bytes of context for research and sessions
	maxBefore   = 64 << 10 // bytes of attached messages
	readTurn    = 16       // newest events that usually contain the last turn
	readBefore  = 4000     // newest events that are searched
	maxCompared = 400      // newest messages that are compared
	maxTitle    = 80       // bytes of a provisional title
)

// beforeName names attachments with messages from elsewhere.
const beforeName = "what was said before"

// System is the role of instructions.
const System llm.Role = "system"

func (a Request) earlierMessages() []llm.Message { return a.Messages[:len(a.Messages)-1] }

func (a Request) contextText() string {
	before := a.earlierMessages()
	if len(before) == 0 {
		before = a.Known
	}
	return renderTranscript(before, maxContext)
}

// renderTranscript renders the newest messages, at most most bytes.
func renderTranscript(list []llm.Message, most int) string {
	var lines []string
	size := 0
	for i := len(list) - 1; i >= 0 && size < most; i-- {
		text := strings.TrimSpace(list[i].Text())
		if text == "" {
			continue
		}
		line := string(list[i].Role) + ": " + text
		if over := size + len(line) - most; over > 0 {
			line = string(list[i].Role) + ": … " + strings.ToValidUTF8(text[min(over, len(text)):], "")
		}
		lines = append(lines, line)
		size += len(line) + 2
	}
	var b strings.Builder
	for i := len(lines) - 1; i >= 0; i-- {
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(lines[i])
	}
	return b.String()
}

type chatTarget struct {
	ponder.Info
	fresh          bool
	hasAllMessages bool   // has all messages of the client
	after          string // newest external input in the cache, which the append verifies
}

func (a Request) isNamed() bool {
	return a.At != "" || a.Thread != "" || a.After.Thread != "" || a.Chat != ""
}

// findConversation finds or creates the conversation of a, by thread, continued work, name or messages.
func (d *Dispatcher) findConversation(ctx context.Context, a Request) (at chatTarget, err error) {
	id := a.newThread()
	switch {
	case a.answers != "":
		at.Info, err = d.ownedThread(ctx, a.Owner, a.answers)
		at.hasAllMessages = true
		return at, err
	case a.Thread != "":
		at.Info, err = d.ownedThread(ctx, a.Owner, a.Thread)
		if err == nil && at.Kind != ponder.KindConversation {
			err = notThere(textkit.TruncateBytes(string(a.Thread), 60))
		}
		return at, err
	case a.After.Thread != "":
		return d.continueJob(ctx, a)
	case a.Chat != "":
		id = threadOf(a.Owner, "chat", a.Chat)
		if at, err = d.findRecent(ctx, a.Owner, id, a.earlierMessages(), false); err != nil || at.ID != "" {
			return at, err
		}
	case len(a.earlierMessages()) > 0 && a.At == "":
		if at, err = d.findKnown(ctx, a); err != nil || at.ID != "" {
			return at, err
		}
	}
	info, err := d.Store.Thread(ctx, id)
	if errors.Is(err, ponder.ErrNoThread) {
		at.fresh = true
		c := app.Conversation{Title: textkit.TruncateBytes(strings.TrimSpace(a.questionText()), maxTitle), Model: a.Model.Model, NoWeb: a.NoWeb, Persona: a.Persona, System: a.System}
		if err := d.Service.Open(ctx, a.Owner, id, c); err != nil && !errors.Is(err, ponder.ErrTaken) {
			return at, err
		}
		info, err = d.Store.Thread(ctx, id)
	}
	at.Info, err = checkOwner(info, err, a.Owner, id)
	if err == nil && at.Kind != ponder.KindConversation {
		err = reusedKeyError()
	}
	return at, err
}

// continueJob returns the conversation of a.After, or a fork if it has a later turn. A message that came during
// the turn belongs to it.
func (d *Dispatcher) continueJob(ctx context.Context, a Request) (at chatTarget, err error) {
	w := a.After
	info := w.info
	if info.ID == "" {
		info, err = d.Store.Thread(ctx, w.Thread)
	}
	if info, err = checkOwner(info, err, a.Owner, w.Thread); err != nil {
		return at, err
	}
	if w.Kind != Chat {
		return d.continueOther(ctx, a, w)
	}
	if w.lastInput != "" && len(a.earlierMessages()) > 0 { // which needs the log
		d.turns.forgetTurn(w.Thread)
		return at, ErrStale
	}
	if w.lastInput != "" {
		return chatTarget{Info: info, hasAllMessages: true, after: w.lastInput}, nil
	}
	last, ended, meanwhile := w.After+1, false, false
	for ev, err := range d.Events(ctx, w) {
		if err != nil {
			return at, fmt.Errorf("read %s: %w", w.Thread, err)
		}
		if _, ok := ev.Body.(ponder.UserMessage); ok && ev.Seq > w.After+1 {
			if a.Key != "" && ev.Cause == a.messageKey(info.ID) { // a retry
				return chatTarget{Info: info, hasAllMessages: true}, nil
			}
			if meanwhile = meanwhile || !ended; !meanwhile {
				return d.forkConversation(ctx, a, w, last)
			}
		}
		last = ev.Seq
		b, ok := ev.Body.(ponder.Progress)
		ended = ended || ok && b.Stage == chat.TurnEnded && b.Ref == w.Message
	}
	info.Head = max(info.Head, last)
	return chatTarget{Info: info}, nil
}

func (d *Dispatcher) forkConversation(ctx context.Context, a Request, w Job, last ponder.Seq) (at chatTarget, err error) {
	to := a.newThread()
	if err := d.Service.Fork(ctx, a.Owner, w.Thread, to, app.Fork{At: last, Paused: true}); err != nil && !errors.Is(err, ponder.ErrTaken) {
		return at, err
	}
	at.Info, err = d.ownedThread(ctx, a.Owner, to)
	return at, err
}

// continueOther creates a conversation from the question and result of other work.
func (d *Dispatcher) continueOther(ctx context.Context, a Request, w Job) (at chatTarget, err error) {
	_, end, err := d.Result(ctx, w)
	if err != nil {
		return at, err
	}
	asked, err := d.readQuestion(ctx, w)
	if err != nil {
		return at, err
	}
	a.After = Job{}
	if a.Key == "" {
		a.Key = ponder.NewID("key")
	}
	if at, err = d.findConversation(ctx, a); err != nil {
		return at, err
	}
	return at, d.recallBefore(ctx, at.Info, "post-"+hexOf(string(at.ID), "behind", string(w.Thread)), nil, []llm.Message{
		llm.Say(llm.User, asked), llm.Say(llm.Assistant, end.Text),
	})
}

func (d *Dispatcher) readQuestion(ctx context.Context, w Job) (string, error) {
	for ev, err := range d.Store.Events(ctx, w.Thread, w.After) {
		if err != nil {
			return "", fmt.Errorf("read %s: %w", w.Thread, err)
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

// findKnown returns the conversation noted for the key, or else one with the same messages. It notes the latter
// before the append, so that a retry finds it.
func (d *Dispatcher) findKnown(ctx context.Context, a Request) (at chatTarget, err error) {
	if a.Key != "" {
		if at.Info, err = d.findByKey(ctx, a); err != nil || at.ID != "" {
			return at, err
		}
	}
	at, err = d.findByMessages(ctx, a)
	if err == nil && at.ID != "" && a.Key != "" {
		err = d.Service.NoteChat(ctx, a.Owner, a.keyDigest(), at.ID, false)
	}
	return at, err
}

// findByMessages returns the conversation whose messages equal those of a, or a zero spot.
func (d *Dispatcher) findByMessages(ctx context.Context, a Request) (at chatTarget, err error) {
	said := toLastUser(a.earlierMessages())
	if len(said) == 0 {
		return at, nil
	}
	digest := saidDigest(said)
	if id := d.turns.chatThread(a.Owner, digest); id != "" {
		sure := a.Key != "" // the key will be noted, so verify now
		if at, err = d.findRecent(ctx, a.Owner, id, a.earlierMessages(), sure); err != nil || at.ID != "" {
			return at, err
		}
	}
	id, err := d.Service.FindChat(ctx, a.Owner, digest)
	if err != nil || id == "" {
		return at, err
	}
	info, err := d.Store.Thread(ctx, id)
	if err != nil || info.Owner != a.Owner || info.Kind != ponder.KindConversation {
		if errors.Is(err, ponder.ErrNoThread) {
			err = nil
		}
		return at, err
	}
	if is, err := d.isLast(ctx, info, a.earlierMessages()); err != nil || !is {
		return at, err
	}
	return chatTarget{Info: info, hasAllMessages: true}, nil
}

// toLastUser cuts list after its last user message.
func toLastUser(list []llm.Message) []llm.Message {
	for len(list) > 0 && list[len(list)-1].Role != llm.User {
		list = list[:len(list)-1]
	}
	return list
}

// isLast reports whether list ends with the last turn of the conversation. The digest covers earlier turns.
func (d *Dispatcher) isLast(ctx context.Context, info ponder.Info, list []llm.Message) (bool, error) {
	if len(toLastUser(list)) == 0 {
		return len(list) == 0, nil
	}
	said, answer, err := d.lastTurn(ctx, info)
	return err == nil && isTurn(list, said, answer), err
}

func (d *Dispatcher) lastTurn(ctx context.Context, info ponder.Info) (said, answer string, err error) {
	for _, most := range []ponder.Seq{readTurn, readBefore} {
		begun, questions := false, ""
		for ev, err := range d.Store.Events(ctx, info.ID, max(0, info.Head-most)) {
			if err != nil {
				return "", "", fmt.Errorf("read %s: %w", info.ID, err)
			}
			switch b := ev.Body.(type) {
			case ponder.UserMessage:
				said, answer, begun, questions = b.Content, "", true, ""
			case ponder.AssistantMessage:
				answer += "\n" + b.Content
			case ponder.ApprovalRequested:
				questions += "\n" + app.NewApproval(ev).Text()
			}
		}
		answer += questions
		if begun || info.Head <= most {
			break
		}
		answer = ""
	}
	return said, answer, nil
}

// noteDigest records the digest of the messages in the background, and closes noted afterwards. [Stream] delays the
// end until then, because a client could not continue the conversation.
func (d *Dispatcher) noteDigest(ctx context.Context, a Request, t turn) (noted chan struct{}) {
	digest := saidDigest(a.Messages)
	t.chat = chatKey(a.Owner, digest)
	d.turns.noteTurn(t)
	noted = make(chan struct{})
	go func() {
		defer close(noted)
		if err := d.Service.NoteChat(ctx, a.Owner, digest, t.info.ID, true); err != nil {
			d.logger().Warn("cannot index the conversation by its messages; later requests will not find it", "thread", t.info.ID, "error", err)
		}
	}()
	return noted
}

// saidDigest hashes roles and texts, without punctuation and spaces.
func saidDigest(list []llm.Message) string {
	parts := make([]string, 0, 2*len(list))
	for _, m := range list {
		parts = append(parts, string(m.Role), Alphanumeric(m.Text()))
	}
	return hexOf(parts...)
}

// recallBefore attaches messages that the conversation lacks: of known, and of the messages that the client
// sent.
func (d *Dispatcher) recallBefore(ctx context.Context, info ponder.Info, key string, known, list []llm.Message) error {
	if list = list[max(0, len(list)-maxCompared):]; len(list)+len(known) == 0 {
		return nil
	}
	earlier, err := d.readTexts(ctx, info, key)
	if err != nil || earlier == nil {
		return err
	}
	text := renderTranscript(earlier.newMessages(known, list), maxBefore)
	if text == "" {
		return nil
	}
	_, err = d.Store.Append(ctx, info.ID, 0, ponder.Event{Cause: key, Body: ponder.AttachmentAdded{
		Name: beforeName, Media: "text/plain", Content: text, Bytes: int64(len(text)),
	}})
	if err != nil && !errors.Is(err, ponder.ErrTaken) {
		return fmt.Errorf("store earlier messages: %w", err)
	}
	return nil
}

// A transcriptMatch is the set of texts that a conversation contains.
type transcriptMatch struct {
	texts map[string]bool
	files []string
}

func (h *transcriptMatch) hasText(text string) bool {
	text = Alphanumeric(text)
	if text == "" || h.texts[text] {
		return true
	}
	return slices.ContainsFunc(h.files, func(f string) bool { return strings.Contains(f, text) })
}

// newMessages returns the missing messages: of known, and of list after its last known message.
func (h *transcriptMatch) newMessages(known, list []llm.Message) (news []llm.Message) {
	from := len(list)
	for from > 0 && (list[from-1].Role == System || !h.hasText(list[from-1].Text())) {
		from--
	}
	told := make(map[string]bool)
	for _, m := range list[from:] {
		told[Alphanumeric(m.Text())] = true
	}
	for _, m := range known {
		if !h.hasText(m.Text()) && !told[Alphanumeric(m.Text())] {
			news = append(news, m)
		}
	}
	for _, m := range list[from:] {
		if !h.hasText(m.Text()) {
			news = append(news, m)
		}
	}
	return news
}

func (d *Dispatcher) readTexts(ctx context.Context, info ponder.Info, key string) (*transcriptMatch, error) {
	h := &transcriptMatch{texts: make(map[string]bool)}
	var answer, questions strings.Builder
	for ev, err := range d.Store.Events(ctx, info.ID, max(0, info.Head-readBefore)) {
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", info.ID, err)
		}
		switch b := ev.Body.(type) {
		case ponder.UserMessage:
			if ev.Cause == key {
				return nil, nil
			}
			h.texts[Alphanumeric(b.Content)] = true
			answer.Reset()
			questions.Reset()
		case ponder.AssistantMessage:
			answer.WriteString(Alphanumeric(b.Content))
			h.texts[Alphanumeric(b.Content)], h.texts[answer.String()], h.texts[answer.String()+questions.String()] = true, true, true
		case ponder.ApprovalRequested:
			questions.WriteString(Alphanumeric(app.NewApproval(ev).Text()))
			h.texts[answer.String()+questions.String()] = true
		case ponder.AttachmentAdded:
			if b.Name == beforeName {
				h.files = append(h.files, Alphanumeric(b.Content))
			}
		}
	}
	return h, nil
}

// Alphanumeric returns the letters, digits and symbols of text, for comparisons.
func Alphanumeric(text string) string {
	var bare strings.Builder
	bare.Grow(len(text))
	for i := 0; i < len(text); i++ {
		if c := text[i]; c >= utf8.RuneSelf {
			return strings.Map(bareRune, text)
		} else if bareASCII[c] {
			bare.WriteByte(c)
		}
	}
	return bare.String()
}

func bareRune(r rune) rune {
	if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsSymbol(r) {
		return r
	}
	return -1
}

// bareASCII caches bareRune.
var bareASCII = func() (is [utf8.RuneSelf]bool) {
	for r := range is {
		is[r] = bareRune(rune(r)) >= 0
	}
	return is
}()
