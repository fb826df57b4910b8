package app

import (
	"context"

	"ponder"
	"ponder/llm"
)

// What the languages of other clients need beside the native API.
type (
	// A Relayer asks models what clients ask that keep the conversation themselves.
	Relayer interface {
		// Relay makes a thread of the id, on which a model is asked, and has it worked on.
		Relay(ctx context.Context, owner string, id ponder.ThreadID, x Exchange) error
	}

	// An Embedder makes vectors of texts.
	Embedder interface {
		// Embed asks a model, or the one that is configured if none is named, and returns a
		// vector for each text and the full name of the model.
		Embed(ctx context.Context, owner, model string, texts []string) (vectors [][]float32, usage llm.Usage, name string, err error)
	}

	// A Lister knows the models that may be named.
	Lister interface {
		// Models returns the full names, provider/model, of those that are configured for any
		// role, in a fixed order.
		Models(ctx context.Context, owner string) ([]string, error)
	}

	// A ChatFinder finds conversations by what was said in them.
	ChatFinder interface {
		// FindChat returns the conversation that was noted under a digest last, or "".
		FindChat(ctx context.Context, owner, digest string) (ponder.ThreadID, error)
		// NoteChat has a conversation found under a digest. What is patient may take some
		// milliseconds, and be written with something else.
		NoteChat(ctx context.Context, owner, digest string, id ponder.ThreadID, patient bool) error
	}

	// Dialects is all that the languages of clients need.
	Dialects interface {
		Service
		Relayer
		Embedder
		Lister
		ChatFinder
	}
)

// An Exchange is one question to a model, as a client asks it.
type Exchange struct {
	Title    string
	Model    string // provider/model; empty: the fast one that is configured
	Request  llm.Request
	Own      bool // tools of ours may be used for it: the memory, and the web
	NoWeb    bool
	NoMemory bool
	Budget   ponder.Budget
	Keep     bool   // it is kept until it is removed
	Cause    string `json:"-"` // of the run_started: what tells the request from another one of the same id
	Made     func() `json:"-"` // if set, it is called once the thread is there, and before it is worked on
}
