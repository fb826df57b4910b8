package main

import (
	"ponder"
	"ponder/internal/tui"
)

// The keys of the live view, beside those that every view knows.
const (
	pauseKey  = "p"
	steerKey  = "s"
	answerKey = "a"
	detachKey = "d"
)

// controls are what the keys do to a session that is thought about here, or, if
// not, by another process.
func controls(here bool) []tui.Control {
	detach := "go on in the background, and print the command that looks on"
	if !here {
		detach = "leave; it goes on without you"
	}
	return []tui.Control{
		{Key: pauseKey, Name: "pause", About: "pause; again: go on", Rank: 0},
		{Key: steerKey, Name: "steer", About: "add, drop or rank questions, correct a fact, change limits", Prompt: "steer> ", Rank: 3},
		{Key: answerKey, Name: "answer now", About: "stop thinking, and answer from what there is", Ask: "Stop thinking, and answer from what there is?", Rank: 1},
		{Key: detachKey, Name: "detach", About: detach, Rank: 4},
	}
}

// A standing is what must be known of a session to say what a key does.
type standing struct {
	status     ponder.Status
	here       bool // this process thinks, or goes on when it is resumed
	launching  bool // a process that goes on is being started
	concluding bool // the answer is being written
}

// A deed is what a key does.
type deed int

// The deeds.
const (
	nothing deed = iota
	pause        // and stay
	pauseAndGo
	resume
	answer          // a session that is thinking
	answerAndResume // one that is paused
	steer
	detach // leave it to a process in the background
	leave  // as it is
)

// decide says what a press does, or why it does nothing.
func decide(p tui.Press, st standing) (do deed, why string) {
	switch {
	case st.status.Ended():
		return nothing, "the session has ended"
	case p.Key == tui.Interrupt && st.here && st.status == ponder.Thinking:
		return pauseAndGo, ""
	case p.Key == tui.Interrupt:
		return leave, ""
	case st.launching:
		return nothing, "a process is being started that goes on"
	}
	paused := st.status == ponder.Paused
	switch p.Key {
	case pauseKey:
		if paused {
			return resume, ""
		}
		return pause, ""
	case steerKey:
		return steer, ""
	case answerKey:
		switch {
		case paused:
			return answerAndResume, ""
		case st.concluding:
			return nothing, "the answer is being written already"
		}
		return answer, ""
	case detachKey:
		if st.here && !paused {
			return detach, ""
		}
		return leave, ""
	}
	return nothing, ""
}
