package report

import (
	"ponder"
	"ponder/mode/research"
	"ponder/mode/session"
)

// A SessionObject is a session as programs are shown it.
type SessionObject struct {
	session.Session
	Kind        ponder.Kind `json:"kind"`
	Title       string      `json:"title"`
	Interrupted bool        `json:"interrupted,omitempty"` // its process ended without a word
}

// ObjectOf returns a session as programs are shown it. One that no process holds does not
// think: it is paused, whatever its log says.
func ObjectOf(info ponder.Info, v session.View, interrupted bool) SessionObject {
	o := SessionObject{Session: v.Session, Kind: info.Kind, Title: info.Title, Interrupted: interrupted}
	if o.ID == "" { // nothing has been started on the thread
		o.ID, o.Question, o.Status, o.Created = info.ID, info.Title, info.Status, &info.Created
	}
	if interrupted {
		o.Status = ponder.Paused
	}
	return o
}

// A ResearchObject is a research as programs are shown it in lists.
type ResearchObject struct {
	research.Research
	Kind        ponder.Kind `json:"kind"`
	Title       string      `json:"title"`
	Interrupted bool        `json:"interrupted,omitempty"` // its process ended without a word
}

// ResearchObjectOf is [ObjectOf] of a research.
func ResearchObjectOf(info ponder.Info, v research.View, interrupted bool) ResearchObject {
	o := ResearchObject{Research: v.Research, Kind: info.Kind, Title: info.Title, Interrupted: interrupted}
	if o.ID == "" { // nothing has been started on the thread
		o.ID, o.Question, o.Status = info.ID, info.Title, info.Status
	}
	if interrupted {
		o.Status = ponder.Paused
	}
	return o
}

// A SessionDetail is a session with all that was thought in it, as programs are shown it.
type SessionDetail struct {
	SessionObject
	Thoughts  []session.Thought   `json:"thoughts"`
	Questions []session.Question  `json:"questions"`
	Syntheses []session.Synthesis `json:"syntheses"`
	Sources   []session.Source    `json:"sources"`

	Steering    []session.Steering   `json:"steering,omitempty"`
	Corrections []session.Correction `json:"corrections,omitempty"`
	Pinned      []string             `json:"pinned_sources,omitempty"`
	Banned      []string             `json:"banned_sources,omitempty"`

	Notes []string `json:"notes,omitempty"`
}

// DetailOf is [ObjectOf] with all that was thought.
func DetailOf(info ponder.Info, v session.View, interrupted bool) SessionDetail {
	return SessionDetail{ObjectOf(info, v, interrupted), v.Thoughts, v.Questions, v.Syntheses, v.Sources, v.Steering, v.Corrections, v.Pinned, v.Banned, v.Notes}
}

// A ResearchDetail is a research with all that was found in it, as programs are shown it.
type ResearchDetail struct {
	research.View
	Kind        ponder.Kind `json:"kind"`
	Title       string      `json:"title"`
	Interrupted bool        `json:"interrupted,omitempty"`
}

// ResearchDetailOf is [DetailOf] of a research.
func ResearchDetailOf(info ponder.Info, v research.View, interrupted bool) ResearchDetail {
	o := ResearchObjectOf(info, v, interrupted)
	v.Research = o.Research
	return ResearchDetail{v, o.Kind, o.Title, o.Interrupted}
}
