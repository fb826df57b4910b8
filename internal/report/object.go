package report

import (
	"ponder"
	"ponder/mode/research"
	"ponder/mode/session"
)

type SessionObject struct {
	session.Session
	Kind        ponder.Kind `json:"kind"`
	Title       string      `json:"title"`
	Interrupted bool        `json:"interrupted,omitempty"`
}

// NewSessionObject returns a session for programs. A session without a holder counts as paused.
func NewSessionObject(info ponder.Info, v session.View, interrupted bool) SessionObject {
	o := SessionObject{Session: v.Session, Kind: info.Kind, Title: info.Title, Interrupted: interrupted}
	if o.ID == "" {
		o.ID, o.Question, o.Status, o.Created = info.ID, info.Title, info.Status, &info.Created
	}
	if interrupted {
		o.Status = ponder.Paused
	}
	return o
}

type ResearchObject struct {
	research.Research
	Kind        ponder.Kind `json:"kind"`
	Title       string      `json:"title"`
	Interrupted bool        `json:"interrupted,omitempty"`
}

// NewResearchObject is [NewSessionObject] of a research.
func NewResearchObject(info ponder.Info, v research.View, interrupted bool) ResearchObject {
	o := ResearchObject{Research: v.Research, Kind: info.Kind, Title: info.Title, Interrupted: interrupted}
	if o.ID == "" {
		o.ID, o.Question, o.Status = info.ID, info.Title, info.Status
	}
	if interrupted {
		o.Status = ponder.Paused
	}
	return o
}

type SessionDetail struct {
	SessionObject
	Thoughts  []session.Thought   `json:"thoughts"`
	Questions []session.Question  `json:"questions"`
	Syntheses []session.Synthesis `json:"syntheses"`
	Sources   []session.Source    `json:"sources"`

	Steering    []session.SteerCommand `json:"steering,omitempty"`
	Corrections []session.Correction   `json:"corrections,omitempty"`
	Pinned      []string               `json:"pinned_sources,omitempty"`
	Banned      []string               `json:"banned_sources,omitempty"`

	Notes []string `json:"notes,omitempty"`
}

func NewSessionDetail(info ponder.Info, v session.View, interrupted bool) SessionDetail {
	return SessionDetail{NewSessionObject(info, v, interrupted), v.Thoughts, v.Questions, v.Syntheses, v.Sources, v.Steering, v.Corrections, v.Pinned, v.Banned, v.Notes}
}

type ResearchDetail struct {
	research.View
	Kind        ponder.Kind `json:"kind"`
	Title       string      `json:"title"`
	Interrupted bool        `json:"interrupted,omitempty"`
}

func NewResearchDetail(info ponder.Info, v research.View, interrupted bool) ResearchDetail {
	o := NewResearchObject(info, v, interrupted)
	v.Research = o.Research
	return ResearchDetail{v, o.Kind, o.Title, o.Interrupted}
}
