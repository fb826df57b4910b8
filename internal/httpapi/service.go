package httpapi

import "ponder/internal/app"

// The words of package service, which are those of this API.
type (
	Thinker      = app.Thinker
	Talker       = app.Talker
	Rememberer   = app.Rememberer
	Minder       = app.Minder
	Service      = app.Dialects
	Error        = app.Error
	Start        = app.Start
	Fork         = app.Fork
	Conversation = app.Conversation
	Message      = app.Message
	Memory       = app.Memory
	Query        = app.Query
	Hit          = app.Hit
	Document     = app.Document
)
