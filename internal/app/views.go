package app

import (
	"ponder"
	"ponder/mode/chat"
	"ponder/mode/deep"
	"ponder/mode/research"
	"ponder/mode/session"
)

type (
	View     = session.View
	Session  = session.Session
	Progress = session.Progress
	Question = session.Question
	Source   = session.Source
	Usage    = session.Usage

	ResearchView   = research.View
	ResearchChunks = research.References

	TurnView        = chat.TurnView
	ReflectionView  = chat.ReflectionView
	PendingMessages = chat.PendingMessages
	MessageText     = chat.Message
	ChatOptions     = chat.Options
)

// States of closed questions.
const (
	Exploring = session.Exploring
	Explored  = session.Explored
	Dropped   = session.Dropped
)

const (
	DeepAsked  = chat.DeepAsked // the sensor that requests a reflection
	DeepFailed = chat.DeepFailed
	Diagram    = deep.Mermaid
)

func NewTurnView(message string, seq ponder.Seq) TurnView { return chat.NewTurnView(message, seq) }

// WritesReply reports whether the calls of an action write answers of conversations.
func WritesReply(key string) bool { return chat.WritesAnswer(key) }

// WritesFindings reports whether the calls of an action write the answer of a research.
func WritesFindings(key string) bool { return research.WritesAnswer(key) }
