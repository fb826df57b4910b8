package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"

	"ponder/internal/app"

	"ponder/internal/textkit"
	"ponder/internal/tui"
)

// A face is how a conversation is shown.
type face interface {
	show(what kind, text string)
	// stand shows how things stand, and which messages wait.
	stand(status string, queue []string)
	close()
}

// A kind says what is shown.
type kind int

const (
	typed   kind = iota // by the user
	piece               // of an answer, as it goes on
	ended               // the answer
	before              // what was answered before
	halted              // what there was of an answer that was stopped before; may be empty
	result              // of a command, as Markdown
	drawing             // put beside the conversation by what goes on in the background
	remark
	alarm
)

// markStopped is shown below an answer that was stopped.
const markStopped = "stopped"

// eof is the key of a press that means that no more messages come.
const eof = "eof"

// A screenFace is a terminal.
type screenFace struct {
	talk *tui.Talk
	undo func()
}

// openScreen takes the terminal. What is logged meanwhile is shown there, too.
func (s *chatting) openScreen(out, in *os.File) face {
	talk := tui.OpenTalk(tui.TalkOptions{Out: out, In: in, Style: s.style(), Hint: hintCommand, Entered: s.press})
	undo := s.onScreen(talk)
	rest := s.brake.toRest(func() { s.press(tui.Press{Key: tui.Leave}) })
	return screenFace{talk, func() { rest(); undo() }}
}

// onScreen has what is not a result shown on a screen, until it is undone.
func (a *cli) onScreen(talk *tui.Talk) (undo func()) {
	log, last := a.log, a.brake.last
	log.mu.Lock()
	defer log.mu.Unlock()
	before := log.out
	log.out = remarks{talk}
	a.brake.last = talk.Close
	return func() {
		log.mu.Lock()
		defer log.mu.Unlock()
		log.out, a.brake.last = before, last
	}
}

// remarks shows lines on a terminal that a conversation is held on.
type remarks struct{ talk *tui.Talk }

func (r remarks) Write(b []byte) (int, error) {
	r.talk.Remark(strings.TrimSpace(strings.TrimPrefix(string(b), "ponder: ")))
	return len(b), nil
}

func (f screenFace) show(what kind, text string) {
	switch what {
	case typed:
		f.talk.Said(text)
	case piece:
		f.talk.Write(text)
	case ended:
		f.talk.End()
	case result, drawing, before:
		f.talk.Print(text)
	case halted:
		if text != "" {
			f.talk.Print(text)
		}
		f.talk.Remark(markStopped)
	case remark:
		f.talk.Remark(text)
	case alarm:
		f.talk.Alarm(text)
	}
}

func (f screenFace) stand(status string, queue []string) {
	f.talk.Status(status)
	f.talk.Queue(queue)
}

func (f screenFace) close() {
	f.talk.Close()
	f.undo()
}

// A lineFace prints answers as they come, and nothing of what was typed.
type lineFace struct {
	cli  *cli
	undo func()
	last byte // that was printed
}

// openLines reads messages from standard input, a line each.
func (s *chatting) openLines(ctx context.Context) face {
	var arm func()
	undo := func() {}
	arm = func() {
		undo = s.brake.toRest(func() { s.press(tui.Press{Key: tui.Interrupt}) })
	}
	arm()
	s.rearm = arm
	go s.readLines(ctx, s.in)
	return &lineFace{cli: s.cli, undo: func() { undo() }, last: '\n'}
}

// readLines sends the lines of a reader, each once what was there before is done. One
// that ends in a backslash goes on.
func (s *chatting) readLines(ctx context.Context, in io.Reader) {
	send := func(p tui.Press) bool {
		select {
		case s.lines <- p:
			return true
		case <-ctx.Done():
			return false
		}
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, app.MaxMessage)
	text := ""
	for lines.Scan() {
		line := strings.ToValidUTF8(lines.Text(), "")
		if head, ok := strings.CutSuffix(line, `\`); ok {
			text += head + "\n"
			continue
		}
		if !send(tui.Press{Key: tui.Enter, Line: strings.TrimSpace(text + line)}) {
			return
		}
		text = ""
	}
	if text = strings.TrimSpace(text); text != "" && !send(tui.Press{Key: tui.Enter, Line: text}) {
		return
	}
	if err := lines.Err(); err != nil {
		s.cli.say("standard input: %v", err)
	}
	send(tui.Press{Key: eof})
}

func (f *lineFace) show(what kind, text string) {
	a := f.cli
	switch what {
	case typed, before, halted:
	case remark:
		a.note("%s", text)
	case alarm:
		a.say("%s", text)
	case ended:
		if f.last != '\n' {
			f.print("\n")
		}
	default:
		f.print(textkit.Clean(text))
		if what != piece {
			f.show(ended, "")
		}
	}
}

// print prints a piece of a result; as JSON, results are events.
func (f *lineFace) print(text string) {
	if text == "" || f.cli.flags.json {
		return
	}
	f.last = text[len(text)-1]
	_, _ = io.WriteString(f.cli.out, text) // what cannot be printed is told at the end
}

func (f *lineFace) stand(string, []string) {}
func (f *lineFace) close()                 { f.undo() }
