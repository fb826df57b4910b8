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

type word struct{ name, takes, about string }

func (w word) usage() string { return strings.TrimSpace(w.name + " " + w.takes) }

func (w word) hint() tui.Hint {
	return tui.Hint{Text: w.usage() + ": " + w.about, Complete: w.name + strings.Repeat(" ", min(1, len(w.takes)))}
}

type chatCommand struct {
	word
	run func(s *chatSession, ctx context.Context, rest string) error // nil leaves
}

func chatCommands() []chatCommand {
	return []chatCommand{
		{word{"/deep", "[topic]", "have a slower model think about the conversation, in the background"}, (*chatSession).deepCommand},
		{word{"/think", "[on|off]", "whether the model may put down thoughts before it answers"}, (*chatSession).thinkCommand},
		{word{"/thoughts", "", "show what was thought and not said"}, (*chatSession).thoughtsCommand},
		{word{"/plan", "[on|off]", "whether a plan is shown, and waits for a yes, before anything is changed"}, (*chatSession).planCommand},
		{word{"/model", "[provider/model]", "which model talks, or talk with another"}, (*chatSession).modelCommand},
		{word{"/attach", "FILE", "put a file beside the next message"}, (*chatSession).attachCommand},
		{word{"/cost", "", "what the conversation has cost; /stats too"}, (*chatSession).costCommand},
		{word{"/export", "[file]", "write the conversation to a file: Markdown, or .jsonl"}, (*chatSession).exportCommand},
		{word{"/new", "", "begin another conversation"}, (*chatSession).newCommand},
		{word{"/help", "", "show this"}, (*chatSession).helpCommand},
		{word{"/quit", "", "leave"}, nil},
	}
}

func proper(name string) string {
	switch name = strings.ToLower(name); name {
	case "/stats":
		return "/cost"
	case "/exit":
		return "/quit"
	}
	return name
}

func commandOf(line string) (c chatCommand, rest string, ok bool) {
	name, rest, _ := strings.Cut(line, " ")
	for _, c := range chatCommands() {
		if proper(name) == c.name {
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
		if c.name == proper(typed) || !more && strings.HasPrefix(c.name, strings.ToLower(typed)) {
			names, h = append(names, c.name), c.hint()
		}
	}
	if len(names) > 1 {
		h = tui.Hint{Text: strings.Join(names, "  "), Complete: stem(names)}
	}
	if more {
		h.Complete = ""
	}
	return h
}

func stem(words []string) string {
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
		fmt.Fprintf(&b, "%-26s %s\n", c.usage(), c.about)
	}
	b.WriteString("\nA line that ends in \\ goes on. Ctrl-C stops the answer; Ctrl-D leaves.")
	s.ui.Show(tui.Remark, b.String())
	return nil
}

func (s *chatSession) deepCommand(ctx context.Context, topic string) error {
	if s.muses.Busy() {
		s.ui.Show(tui.Remark, "thinking goes on in the background; this comes after it")
	} else {
		s.ui.Show(tui.Remark, "thinking in the background; what comes of it is there for a later answer")
	}
	name := topic
	if name == "" {
		name = "A conversation"
	}
	wish, err := s.reflect(ctx, topic, name)
	if err != nil {
		return err
	}
	s.muses.Asked = wish.Seq
	if s.updated == nil {
		s.listen(ctx)
	}
	return nil
}

var errTurn = errors.New("an answer goes on: wait for it, or stop it with ctrl+c")

// isSetting reports whether a text is on, off or empty. Empty toggles.
func isSetting(rest string) bool {
	return slices.Contains([]string{"", "on", "true", "off", "false"}, strings.ToLower(rest))
}

func (s *chatSession) toggle(ctx context.Context, rest, about string, setting func(*app.ChatSetup) *bool) error {
	if s.now != nil {
		return errTurn
	}
	t := s.talking
	on := setting(&t)
	*on = rest == "" && !*on || strings.EqualFold(rest, "on") || strings.EqualFold(rest, "true")
	if err := s.change(ctx, t); err != nil {
		return err
	}
	s.ui.Show(tui.Remark, about+map[bool]string{false: "off", true: "on"}[*on])
	return nil
}

func (s *chatSession) thinkCommand(ctx context.Context, rest string) error {
	if !isSetting(rest) {
		return fmt.Errorf("%q is neither on nor off", clip(oneLine(rest), 20))
	}
	return s.toggle(ctx, rest, "thinking before an answer is ", func(t *app.ChatSetup) *bool { return &t.Think })
}

// planCommand toggles plan mode, or sends a message in it.
func (s *chatSession) planCommand(ctx context.Context, rest string) error {
	if !isSetting(rest) {
		s.next = append(s.next, queuedMessage{Text: approval.PlanMark + " " + rest})
		s.turnNext(ctx)
		return nil
	}
	return s.toggle(ctx, rest, "plan mode is ", func(t *app.ChatSetup) *bool { return &t.Plan })
}

func (s *chatSession) modelCommand(ctx context.Context, name string) error {
	if name == "" {
		s.ui.Show(tui.Remark, talkingWith(s.talking))
		return nil
	}
	if s.now != nil {
		return errTurn
	}
	t, err := s.cli.ChatSetup(ctx, name, false)
	if err != nil {
		return err
	}
	t.Think, t.Plan, t.Sources, t.NoMemory = s.talking.Think, s.talking.Plan, s.talking.Sources, s.talking.NoMemory
	t.Named = name
	if err := t.Check(ctx); err != nil {
		return err
	}
	if err := s.change(ctx, t); err != nil {
		return err
	}
	s.ui.Show(tui.Remark, talkingWith(t))
	return nil
}

func (s *chatSession) attachCommand(_ context.Context, file string) error {
	if file == "" {
		return errors.New("say which file: /attach report.pdf")
	}
	if len(s.files.files)+len(s.files.media) >= mostFiles {
		return fmt.Errorf("at most %d files stand beside a message", mostFiles)
	}
	if err := s.files.attach(strings.Trim(file, `"'`)); err != nil {
		return err
	}
	s.ui.Show(tui.Remark, oneLine(file)+" stands beside the next message")
	return nil
}

func (s *chatSession) newCommand(ctx context.Context, _ string) error {
	if s.now != nil {
		return errTurn
	}
	if s.deaf != nil {
		s.deaf()
	}
	s.updated, s.deaf, s.heard, s.next, s.drawn = nil, nil, 0, nil, nil
	if err := s.reset(ctx); err != nil {
		return err
	}
	s.ui.Show(tui.Remark, "a new conversation")
	return nil
}

var errUnsaid = errors.New("nothing was said yet")

// Limits of /thoughts: thoughts shown, events read.
const (
	shownThoughts = 20
	readThoughts  = 20_000
)

func (s *chatSession) thoughtsCommand(ctx context.Context, _ string) error {
	if s.id == "" {
		return errUnsaid
	}
	var list []string
	for ev, err := range s.store.Events(ctx, s.id, max(0, s.heard-readThoughts)) {
		if err != nil {
			return err
		}
		if text := thoughtOf(ev); text != "" {
			list = append(list, fmt.Sprintf("%d  %s  %s", ev.Seq, ev.Time.Local().Format("15:04:05"), text))
		}
	}
	if len(list) == 0 {
		s.ui.Show(tui.Remark, "nothing was thought that was not said")
		return nil
	}
	s.ui.Show(tui.Remark, strings.Join(list[max(0, len(list)-shownThoughts):], "\n\n"))
	return nil
}

// thoughtOf returns the unspoken thought in an event, or "".
func thoughtOf(ev ponder.Event) string {
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
		return errUnsaid
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
		return errUnsaid
	}
	info, err := s.store.Thread(ctx, s.id)
	if err != nil {
		return err
	}
	if file == "" {
		file = "conversation-" + strings.ToLower(string(s.id)[len("thr_"):]) + ".md"
	}
	var text []byte
	if formatOf(file) == "jsonl" {
		return s.exportThread(ctx, s.store, info, file, false)
	}
	if text, err = transcriptOf(ctx, s.store, info); err != nil {
		return err
	}
	return s.deliver(filepath.Clean(file), text)
}

// transcriptOf returns a conversation as Markdown, without internal events.
func transcriptOf(ctx context.Context, log ponder.Log, info ponder.Info) ([]byte, error) {
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
			name, text = "Beside it", drawn(body)
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
