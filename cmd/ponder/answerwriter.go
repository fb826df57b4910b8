package main

import (
	"fmt"
	"io"

	"ponder/internal/tui"
)

// An answerWriter prints an answer as it comes.
type answerWriter interface {
	print(text string) error
	status(text string) // shows how things stand
	close()             // doing so twice does no harm
}

// answerTo returns the writer of answers: on a terminal, it shows their Markdown.
func (a *cli) answerTo() answerWriter {
	if out, ok := a.paper(); ok && !a.flags.json && tui.CanShow(out) {
		talk := tui.OpenTalk(tui.TalkOptions{Out: out, Style: a.style()})
		return &terminalAnswer{talk, a.onScreen(talk)}
	}
	return &plainAnswer{out: a.out, bar: a.newMeter()}
}

// A terminalAnswer prints an answer on a terminal.
type terminalAnswer struct {
	talk *tui.Talk
	undo func()
}

func (s *terminalAnswer) print(text string) error {
	s.talk.Write(text)
	return nil
}

func (s *terminalAnswer) status(text string) { s.talk.Status(text) }

func (s *terminalAnswer) close() {
	s.talk.End()
	s.talk.Close()
	s.undo()
}

// A plainAnswer prints an answer as it is, and ends with a line of its own.
type plainAnswer struct {
	out   io.Writer
	bar   *meter
	wrote bool
}

func (p *plainAnswer) print(text string) error {
	p.wrote = true
	if _, err := io.WriteString(p.out, text); err != nil {
		return fmt.Errorf("print the answer: %w", err)
	}
	return nil
}

func (p *plainAnswer) status(text string) {
	if text == "" {
		p.bar.clear()
		return
	}
	p.bar.draw(progress{-1, text})
}

func (p *plainAnswer) close() {
	p.bar.clear()
	if p.wrote {
		p.wrote = false
		_, _ = io.WriteString(p.out, "\n") // what cannot be printed is told at the end
	}
}
