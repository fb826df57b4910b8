package app

import (
	"ponder"
	"ponder/mode/chat"
	"ponder/mode/deep"
	"ponder/mode/research"
	"ponder/mode/session"
)

// Views are the folds of threads by their modes, as use cases return them to surfaces.
type (
	View     = session.View // of a session
	Session  = session.Session
	Progress = session.Progress
	Question = session.Question
	Source   = session.Source
	Usage    = session.Usage

	ResearchView   = research.View
	ResearchChunks = research.References // of a research, beside its events

	TurnView        = chat.TurnView // of a turn of a conversation
	ReflectionView  = chat.ReflectionView
	PendingMessages = chat.PendingMessages
	Said            = chat.Said
	ChatOptions     = chat.Options
)

// States of questions that are no longer open.
const (
	Exploring = session.Exploring
	Explored  = session.Explored
	Dropped   = session.Dropped
)

// What events of conversations name.
const (
	DeepAsked  = chat.DeepAsked  // the sensor that asks for a reflection
	DeepFailed = chat.DeepFailed // the sensor that reports that a reflection failed
	Diagram    = deep.Mermaid    // the media type of diagrams
)

// NewTurnView returns the view of the turn that answers a message.
func NewTurnView(message string, seq ponder.Seq) TurnView { return chat.NewTurnView(message, seq) }

// WritesReply reports whether the calls of an action write answers of conversations.
func WritesReply(key string) bool { return chat.WritesAnswer(key) }

// WritesFindings reports whether the calls of an action write the answer of a research.
func WritesFindings(key string) bool { return research.WritesAnswer(key) }
