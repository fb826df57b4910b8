package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ponder/internal/report"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/textkit"
	"ponder/internal/tui"
	"ponder/tool/approval"
)

type commandUsage struct{ name, argument, description string }

func (w commandUsage) usageText() string { return strings.TrimSpace(w.name + " " + w.argument) }

func (w commandUsage) inputHint() tui.Hint {
	return tui.Hint{Text: w.usageText() + ": " + w.description, Complete: w.name + strings.Repeat(" ", min(1, len(w.argument)))}
}

type chatCommand struct {
	commandUsage
	run func(s *chatSession, ctx context.Context, rest string) error // nil leaves
}

func chatCommands() []chatCommand {
	return []chatCommand{
		{commandUsage{"/deep", "[topic]", "have a slower model think about the conversation, in the background"}, (*chatSession).deepCommand},
		{commandUsage{"/think", "[on|off]", "whether the model may put down thoughts before it answers"}, (*chatSession).thinkCommand},
		{commandUsage{"/thoughts", "", "show what was thought and not said"}, (*chatSession).thoughtsCommand},
		{commandUsage{"/plan", "[on|off]", "whether a plan is shown, and waits for a yes, before anything is changed"}, (*chatSession).planCommand},
		{commandUsage{"/model", "[provider/model]", "which model talks, or talk with another"}, (*chatSession).modelCommand},
		{commandUsage{"/attach", "FILE", "put a file beside the next message"}, (*chatSession).attachCommand},
		{commandUsage{"/cost", "", "what the conversation has cost; /stats too"}, (*chatSession).costCommand},
		{commandUsage{"/export", "[file]", "write the conversation to a file: Markdown, or .jsonl"}, (*chatSession).exportCommand},
		{commandUsage{"/new", "", "begin another conversation"}, (*chatSession).newCommand},
		{commandUsage{"/help", "", "show this"}, (*chatSession).helpCommand},
		{commandUsage{"/quit", "", "leave"}, nil},
	}
}

func canonicalCommand(name string) string {
	switch name = strings.ToLower(name); name {
	case "/stats":
		return "/cost"
	case "/exit":
		return "/quit"
	}
	return name
}

func parseCommand(line string) (c chatCommand, rest string, ok bool) {
	name, rest, _ := strings.Cut(line, " ")
	for _, c := range chatCommands() {
		if canonicalCommand(name) == c.name {
			return c, strings.TrimSpace(rest), true
		}
	}
	return c, "", false
}

func hintCommand(line string) (h tui.Hint) {
	typed, _, more := strings.Cut(line, " ")
	if !strings.HasPrefix(typed, "/") {
		return h
	}
	var names []string
	for _, c := range chatCommands() {
		if c.name == canonicalCommand(typed) || !more && strings.HasPrefix(c.name, strings.ToLower(typed)) {
			names, h = append(names, c.name), c.inputHint()
		}
	}
	if len(names) > 1 {
		h = tui.Hint{Text: strings.Join(names, "  "), Complete: commonPrefix(names)}
	}
	if more {
		h.Complete = ""
	}
	return h
}

func commonPrefix(words []string) string {
	head := words[0]
	for _, w := range words {
		for !strings.HasPrefix(w, head) {
			head = head[:len(head)-1]
		}
	}
	return head
}

func (s *chatSession) helpCommand(context.Context, string) error {
	var b strings.Builder
	for _, c := range chatCommands() {
		fmt.Fprintf(&b, "%-26s %s\n", c.usageText(), c.description)
	}
	b.WriteString("\nA line that ends in \\ goes on. Ctrl-C stops the answer; Ctrl-D leaves.")
	s.ui.Show(tui.Remark, b.String())
	return nil
}

func (s *chatSession) deepCommand(ctx context.Context, topic string) error {
	if s.reflections.Busy() {
		s.ui.Show(tui.Remark, "thinking goes on in the background; this comes after it")
	} else {
		s.ui.Show(tui.Remark, "thinking in the background; what comes of it is there for a later answer")
	}
	name := topic
	if name == "" {
		name = "A conversation"
	}
	reflection, err := s.requestReflection(ctx, topic, name)
	if err != nil {
		return err
	}
	s.reflections.Asked, s.deepAsked = reflection.Seq, reflection.Seq
	if s.updated == nil {
		s.startListening(ctx)
	}
	return nil
}

var errTurn = errors.New("an answer goes on: wait for it, or stop it with ctrl+c")

// isSetting reports whether a text is on, off or empty. Empty toggles.
func isSetting(rest string) bool {
	return slices.Contains([]string{"", "on", "true", "off", "false"}, strings.ToLower(rest))
}

func (s *chatSession) toggleSetting(ctx context.Context, rest, about string, setting func(*app.ChatSetup) *bool) error {
	if s.active != nil {
		return errTurn
	}
	t := s.setup
	on := setting(&t)
	*on = rest == "" && !*on || strings.EqualFold(rest, "on") || strings.EqualFold(rest, "true")
	if err := s.applySetup(ctx, t); err != nil {
		return err
	}
	s.ui.Show(tui.Remark, about+map[bool]string{false: "off", true: "on"}[*on])
	return nil
}

func (s *chatSession) thinkCommand(ctx context.Context, rest string) error {
	if !isSetting(rest) {
		return fmt.Errorf("%q is neither on nor off", truncate(oneLine(rest), 20))
	}
	return s.toggleSetting(ctx, rest, "thinking before an answer is ", func(t *app.ChatSetup) *bool { return &t.Think })
}

// planCommand toggles plan mode, or sends a message in it.
func (s *chatSession) planCommand(ctx context.Context, rest string) error {
	if !isSetting(rest) {
		s.queue = append(s.queue, queuedMessage{Text: approval.PlanMark + " " + rest})
		s.startQueued(ctx)
		return nil
	}
	return s.toggleSetting(ctx, rest, "plan mode is ", func(t *app.ChatSetup) *bool { return &t.Plan })
}

func (s *chatSession) modelCommand(ctx context.Context, name string) error {
	if name == "" {
		s.ui.Show(tui.Remark, modelBanner(s.setup))
		return nil
	}
	if s.active != nil {
		return errTurn
	}
	t, err := s.cli.ChatSetup(ctx, name, false)
	if err != nil {
		return err
	}
	t.Think, t.Plan, t.Sources, t.NoMemory = s.setup.Think, s.setup.Plan, s.setup.Sources, s.setup.NoMemory
	t.Named = name
	if err := t.Check(ctx); err != nil {
		return err
	}
	if err := s.applySetup(ctx, t); err != nil {
		return err
	}
	s.ui.Show(tui.Remark, modelBanner(t))
	return nil
}

func (s *chatSession) attachCommand(_ context.Context, file string) error {
	if file == "" {
		return errors.New("say which file: /attach report.pdf")
	}
	if len(s.nextMessage.files)+len(s.nextMessage.media) >= maxFiles {
		return fmt.Errorf("at most %d files stand beside a message", maxFiles)
	}
	if err := s.nextMessage.attachFile(strings.Trim(file, `"'`)); err != nil {
		return err
	}
	s.ui.Show(tui.Remark, oneLine(file)+" stands beside the next message")
	return nil
}

func (s *chatSession) newCommand(ctx context.Context, _ string) error {
	if s.active != nil {
		return errTurn
	}
	if s.stopListening != nil {
		s.stopListening()
	}
	s.updated, s.stopListening, s.lastSeq, s.queue, s.pendingAttachments = nil, nil, 0, nil, nil
	s.deepAsked, s.deepNotice = 0, ""
	if err := s.resetThread(ctx); err != nil {
		return err
	}
	s.ui.Show(tui.Remark, "a new conversation")
	return nil
}

var errNoMessage = errors.New("nothing was said yet")

// Limits of /thoughts: thoughts shown, events read.
const (
	maxShownThoughts = 20
	maxThoughtEvents = 20_000
)

func (s *chatSession) thoughtsCommand(ctx context.Context, _ string) error {
	if s.id == "" {
		return errNoMessage
	}
	var list []string
	for ev, err := range s.store.Events(ctx, s.id, max(0, s.lastSeq-maxThoughtEvents)) {
		if err != nil {
			return err
		}
		if text := thoughtText(ev); text != "" {
			list = append(list, fmt.Sprintf("%d  %s  %s", ev.Seq, ev.Time.Local().Format("15:04:05"), text))
		}
	}
	if len(list) == 0 {
		s.ui.Show(tui.Remark, "nothing was thought that was not said")
		return nil
	}
	s.ui.Show(tui.Remark, strings.Join(list[max(0, len(list)-maxShownThoughts):], "\n\n"))
	return nil
}

// thoughtText returns the unspoken thought in an event, or "".
func thoughtText(ev ponder.Event) string {
	switch b := ev.Body.(type) {
	case ponder.Thought:
		return "thought: " + b.Content
	case ponder.InnerMonologue:
		text := fmt.Sprintf("inner thoughts (%s; had read up to %d", b.Reason, b.ReadTo)
		if len(b.Sources) > 0 {
			text += "; looked into " + strings.Join(b.Sources, ", ")
		}
		if b.Older {
			text += "; the conversation has moved on since"
		}
		return text + "):\n" + b.Content
	case ponder.Progress:
		switch b.Stage {
		case app.DeepAsked:
			return strings.TrimSuffix("asked to think about: "+strings.TrimSpace(b.Content+" ("+b.Label+")"), " ()")
		case app.DeepRefused:
			return "refused to think: " + b.Content
		case app.DeepFailed:
			return "nothing came of thinking: " + b.Content
		}
	case ponder.Observation:
		if b.Sensor == app.DeepAsked {
			return strings.TrimSuffix("asked by the user to think about: "+b.Content, " about: ")
		}
	case ponder.SystemNote:
		if ev.Internal {
			return "note: " + b.Content
		}
	}
	return ""
}

func (s *chatSession) costCommand(ctx context.Context, _ string) error {
	if s.id == "" {
		return errNoMessage
	}
	rows, err := s.store.Usage(ctx, ponder.ByThread, time.Time{})
	if err != nil {
		return err
	}
	for _, r := range rows {
		if r.Key == string(s.id) {
			s.ui.Show(tui.Remark, fmt.Sprintf("%s, %s tokens in, %s out, %s", textkit.Count(r.Calls, "call", "calls"),
				textkit.Number(r.Usage.Input+r.Usage.CacheRead+r.Usage.CacheWrite), textkit.Number(r.Usage.Output), report.USD(r.Money.USD(), r.Usage.Total(), r.Calls, r.Unknown)))
			return nil
		}
	}
	return errors.New("no model has answered yet")
}

func (s *chatSession) exportCommand(ctx context.Context, file string) error {
	if s.id == "" {
		return errNoMessage
	}
	info, err := s.store.Thread(ctx, s.id)
	if err != nil {
		return err
	}
	if file == "" {
		file = "conversation-" + strings.ToLower(string(s.id)[len("thr_"):]) + ".md"
	}
	var text []byte
	if formatFromPath(file) == "jsonl" {
		return s.exportThread(ctx, s.store, info, file, false)
	}
	if text, err = renderTranscript(ctx, s.store, info); err != nil {
		return err
	}
	return s.writeResult(filepath.Clean(file), text)
}

// renderTranscript returns a conversation as Markdown, without internal events.
func renderTranscript(ctx context.Context, log ponder.Log, info ponder.Info) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n", oneLine(info.Title))
	who := ""
	for ev, err := range log.Events(ctx, info.ID, 0) {
		if err != nil {
			return nil, fmt.Errorf("export %s: %w", info.ID, err)
		}
		if ev.Internal {
			continue
		}
		name, text := "", ""
		switch body := ev.Body.(type) {
		case ponder.UserMessage:
			name, text = "You", body.Content
		case ponder.AssistantMessage:
			name, text = "Ponder", body.Content
		case ponder.Steer:
			if name, text = "Ponder", body.Content+" […]"; body.Do != ponder.Cancel || body.Content == "" {
				continue
			}
		case ponder.AttachmentAdded:
			name, text = "Beside it", attachmentText(body)
		default:
			continue
		}
		if name != who {
			fmt.Fprintf(&b, "\n## %s\n", name)
		}
		who = name
		fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(text))
	}
	return b.Bytes(), nil
}
