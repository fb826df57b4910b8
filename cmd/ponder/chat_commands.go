package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"ponder/internal/tui"
	"ponder/tool/approval"
)

// A chatCommand is something that is typed in a conversation and is no message.
type chatCommand struct {
	name, takes, about string
	run                func(s *chatting, ctx context.Context, rest string) (gone bool, err error)
}

// chatCommands are all of them.
func chatCommands() []chatCommand {
	return []chatCommand{
		{"deep", "[topic]", "have a slower model think about the conversation, in the background", stays((*chatting).deepCommand)},
		{"think", "[on|off]", "whether the model may put down thoughts before it answers", stays((*chatting).thinkCommand)},
		{"thoughts", "", "show what was thought and not said", stays((*chatting).thoughtsCommand)},
		{"plan", "[on|off]", "whether a plan is shown, and waits for a yes, before anything is changed", stays((*chatting).planCommand)},
		{"model", "[provider/model]", "which model talks, or talk with another", stays((*chatting).modelCommand)},
		{"attach", "FILE", "put a file beside the next message", stays((*chatting).attachCommand)},
		{"cost", "", "what the conversation has cost; /stats too", stays((*chatting).costCommand)},
		{"export", "[file]", "write the conversation to a file: Markdown, or .jsonl", stays((*chatting).exportCommand)},
		{"new", "", "begin another conversation", stays((*chatting).newCommand)},
		{"help", "", "show this", stays((*chatting).helpCommand)},
		{"quit", "", "leave", func(*chatting, context.Context, string) (bool, error) { return true, nil }},
	}
}

// stays makes a command of a method that does not leave.
func stays(do func(*chatting, context.Context, string) error) func(*chatting, context.Context, string) (bool, error) {
	return func(s *chatting, ctx context.Context, rest string) (bool, error) { return false, do(s, ctx, rest) }
}

// proper returns the name of a command, which may have been called by another one.
func proper(name string) string {
	switch name = strings.ToLower(name); name {
	case "stats":
		return "cost"
	case "exit":
		return "quit"
	}
	return name
}

// commandOf returns the command that a line is, and what stands after its name.
func commandOf(line string) (c chatCommand, rest string, ok bool) {
	name, rest, _ := strings.Cut(line, " ")
	if !strings.HasPrefix(name, "/") {
		return c, "", false
	}
	for _, c := range chatCommands() {
		if proper(name[1:]) == c.name {
			return c, strings.TrimSpace(rest), true
		}
	}
	return c, "", false
}

// hintCommand helps with a command that is being typed.
func hintCommand(line string) tui.Hint {
	name, ok := strings.CutPrefix(line, "/")
	if !ok {
		return tui.Hint{}
	}
	typed, _, more := strings.Cut(name, " ")
	var fits []chatCommand
	for _, c := range chatCommands() {
		if c.name == proper(typed) || !more && strings.HasPrefix(c.name, strings.ToLower(typed)) {
			fits = append(fits, c)
		}
	}
	switch len(fits) {
	case 0:
		return tui.Hint{}
	case 1:
		h := tui.Hint{Text: strings.TrimSpace("/"+fits[0].name+" "+fits[0].takes) + ": " + fits[0].about}
		if !more {
			h.Complete = strings.TrimSpace("/" + fits[0].name + strings.Repeat(" ", min(1, len(fits[0].takes))))
			if fits[0].takes != "" {
				h.Complete += " "
			}
		}
		return h
	}
	var names []string
	for _, c := range fits {
		names = append(names, "/"+c.name)
	}
	return tui.Hint{Text: strings.Join(names, "  "), Complete: stem(names)}
}

// stem returns what all words begin with.
func stem(words []string) string {
	head := words[0]
	for _, w := range words {
		for !strings.HasPrefix(w, head) {
			head = head[:len(head)-1]
		}
	}
	return head
}

func (s *chatting) helpCommand(context.Context, string) error {
	var b strings.Builder
	for _, c := range chatCommands() {
		fmt.Fprintf(&b, "%-26s %s\n", strings.TrimSpace("/"+c.name+" "+c.takes), c.about)
	}
	b.WriteString("\nA line that ends in \\ goes on. Ctrl-C stops the answer; Ctrl-D leaves.")
	s.face.show(remark, b.String())
	return nil
}

func (s *chatting) deepCommand(ctx context.Context, topic string) error {
	if s.muses.Busy() {
		s.face.show(remark, "thinking goes on in the background; this comes after it")
	} else {
		s.face.show(remark, "thinking in the background; what comes of it is there for a later answer")
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

// errTurn says that a command has to wait.
var errTurn = errors.New("an answer goes on: wait for it, or stop it with ctrl+c")

// setting reads "on" and "off"; nothing is the other of what there is.
func setting(rest string, now bool) (on, ok bool) {
	switch strings.ToLower(rest) {
	case "":
		return !now, true
	case "on", "true":
		return true, true
	case "off", "false":
		return false, true
	}
	return now, false
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func (s *chatting) thinkCommand(ctx context.Context, rest string) error {
	on, ok := setting(rest, s.talking.Think)
	if !ok {
		return fmt.Errorf("%q is neither on nor off", clip(oneLine(rest), 20))
	}
	if s.now != nil {
		return errTurn
	}
	t := s.talking
	t.Think = on
	if err := s.change(ctx, t); err != nil {
		return err
	}
	s.face.show(remark, "thinking before an answer is "+onOff(on))
	return nil
}

// planCommand turns plan mode on and off, or sends a message about a plan.
func (s *chatting) planCommand(ctx context.Context, rest string) error {
	on, ok := setting(rest, s.talking.Plan)
	if !ok { // it says what is to be planned
		s.next = append(s.next, queuedMessage{Text: approval.PlanMark + " " + rest})
		s.turnNext(ctx)
		return nil
	}
	if s.now != nil {
		return errTurn
	}
	t := s.talking
	t.Plan = on
	if err := s.change(ctx, t); err != nil {
		return err
	}
	s.face.show(remark, "plan mode is "+onOff(on))
	return nil
}

func (s *chatting) modelCommand(ctx context.Context, name string) error {
	if name == "" {
		s.face.show(remark, talkingWith(s.talking))
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
	s.face.show(remark, talkingWith(t))
	return nil
}

func (s *chatting) attachCommand(_ context.Context, file string) error {
	if file == "" {
		return errors.New("say which file: /attach report.pdf")
	}
	if len(s.files.files)+len(s.files.media) >= mostFiles {
		return fmt.Errorf("at most %d files stand beside a message", mostFiles)
	}
	if err := s.files.attach(strings.Trim(file, `"'`)); err != nil {
		return err
	}
	s.face.show(remark, oneLine(file)+" stands beside the next message")
	return nil
}

// newCommand begins another conversation, with what is configured as it was.
func (s *chatting) newCommand(ctx context.Context, _ string) error {
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
	s.face.show(remark, "a new conversation")
	return nil
}
