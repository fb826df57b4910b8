package main

import (
	"fmt"
	"io"

	"ponder/internal/tui"
)

// An outlet is where an answer is printed as it comes.
type outlet interface {
	print(text string) error
	stands(status string) // shows how things stand
	close()               // doing so twice does no harm
}

// answerTo returns where an answer goes: on a terminal, its Markdown is shown.
func (a *cli) answerTo() outlet {
	if out, ok := a.paper(); ok && !a.flags.json && tui.CanShow(out) {
		talk := tui.OpenTalk(tui.TalkOptions{Out: out, Style: a.style()})
		return &shownAnswer{talk, a.onScreen(talk)}
	}
	return &plainAnswer{out: a.out, bar: a.newMeter()}
}

// A shownAnswer is on a terminal.
type shownAnswer struct {
	talk *tui.Talk
	undo func()
}

func (s *shownAnswer) print(text string) error {
	s.talk.Write(text)
	return nil
}

func (s *shownAnswer) stands(status string) { s.talk.Status(status) }

func (s *shownAnswer) close() {
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

func (p *plainAnswer) stands(status string) {
	if status == "" {
		p.bar.clear()
		return
	}
	p.bar.draw(progress{-1, status})
}

func (p *plainAnswer) close() {
	p.bar.clear()
	if p.wrote {
		p.wrote = false
		_, _ = io.WriteString(p.out, "\n") // what cannot be printed is told at the end
	}
}
