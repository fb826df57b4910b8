// Package ponder is the vocabulary of a runtime for deliberate thinking on top of language
// models. Read this package first. Package engine performs the actions of modes.
//
// # The idea
//
// There is one append-only log. An [Event] belongs to a thread, is written once
// and never changes. A [Mode] is a pure function from past events to the next
// actions: [State].Apply folds an event, and [State].Next returns actions. The
// engine performs the actions and appends their results. A mode learns nothing
// else. The engine pauses a run by performing nothing for it. It resumes a run, also
// after a crash, by reading the log and performing the actions that are still wanted.
//
//	e, err := engine.New(engine.Config{Store: store, Modes: modes, Models: models})
//	err = e.Open(ctx)
//	err = store.Create(ctx, thread, ponder.Event{Run: run, Body: ponder.RunStarted{Mode: "session", Input: question}})
//	err = e.Work(ctx, thread.ID) // until there is nothing left to do
//	fin, err := ponder.Await(ctx, store, thread.ID, run)
//
// # The files
//
// In reading order:
//
//	event.go     an event and its identity; event_erase.go removes its content
//	body.go      the bodies of all event types
//	mode.go      modes, states, actions, tools, and the placement of threads
//	model.go     models and their prices
//	budget.go    the limits of a run
//	store.go     the contract of a store: log, threads, nodes, leases, ledger
//	command.go   commands to runs, and their acknowledgements; steer.go their operations
//	follow.go    reading a log while it grows
//	id.go        identifiers
//
// The other files encode and decode: event_json.go an event, event_extra.go the fields of
// other versions, and body_codec.go a body.
//
// # The stored format
//
// docs/log-format.md describes stored events, field by field. docs/ARCHITECTURE.md
// describes the packages around this one, and docs/design records the decisions.
package ponder
