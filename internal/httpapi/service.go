package httpapi

import "ponder/internal/service"

// The words of package service, which are those of this API.
type (
	Thinker      = service.Thinker
	Talker       = service.Talker
	Rememberer   = service.Rememberer
	Minder       = service.Minder
	Service      = service.Dialects
	Error        = service.Error
	Start        = service.Start
	Fork         = service.Fork
	Conversation = service.Conversation
	Message      = service.Message
	Memory       = service.Memory
	Query        = service.Query
	Hit          = service.Hit
	Document     = service.Document
)

// ErrNotReady is that of package service.
var ErrNotReady = service.ErrNotReady
