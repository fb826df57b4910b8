// Package ponder is a runtime for deliberate thinking on top of language models:
// the vocabulary, and the engine. It is the one package to read first.
//
// # The idea
//
// There is one append-only log. An [Event] belongs to a thread, is written once
// and never changes. A [Mode] is a pure function from what has happened to what
// to do next: [State].Apply folds an event, [State].Next returns actions. The
// engine performs actions at the edge and appends what came of them, which is all
// that a mode ever learns. So pausing is to stop performing, and resuming, also
// after a crash, is to read the log and perform what is still asked for.
//
//	mind, err := ponder.New(ponder.Config{Store: store, Modes: modes, Models: models})
//	err = mind.Open(ctx)
//	err = store.Create(ctx, thread, ponder.Event{Run: run, Body: ponder.RunStarted{Mode: "session", Input: question}})
//	err = mind.Work(ctx, thread.ID) // until there is nothing left to do
//	fin, err := ponder.Await(ctx, store, thread.ID, run)
//
// # The files
//
// In the order to read them:
//
//	event.go       what an event is, and what makes it one of a kind
//	body.go        all that can happen; body_codec.go has how it is stored
//	mode.go        modes, states, actions, tools, and the placement of threads
//	budget.go      what a run may cost
//	store.go       what a store promises: log, threads, nodes, leases, ledger
//	line.go        the fold of a thread: its runs (run.go), what is in flight,
//	               what is done (keys.go)
//	decide.go      what should happen next; admit.go says whether a call fits
//	holder.go      the loop of a process that holds a thread; perform.go makes
//	               calls and uses tools
//	unfit.go       what was decided or answered and cannot be stored
//	checkpoint.go  keeps folds, so that a long thread opens fast
//	mind.go        a process: its beats, its clock, [Mind.Work]
//	follow.go      looking on
//	id.go          ids
//
// line.go and decide.go are as pure as modes are: no clock, no I/O, no goroutines.
//
// # What is promised
//
// Each of these has a test.
//
//   - A log that is cut after any event and gone on with comes to the same events
//     as one that was not, but for ids, times and the order of what went on side by
//     side. A call whose result is in the log is never made again; one that was in
//     flight is made again, word for word.
//   - Two processes never both commit what a run decides: commits carry the number
//     of a lease, and a lease that is not in force commits nothing.
//   - A decision is committed only if the one who made it had read the thread to its
//     end, so no message that comes as a run ends is left without an answer.
//   - Budgets hold whatever a model claims: see [Budget].
//   - A completed run has an answer, and every finished run says why it ended.
//   - Whatever a model does (hangs, panics, never ends, answers nonsense), and however
//     wrong what a mode or a tool returns, or if it panics, a run ends, in an answer or
//     with a reason. A mode must return: nothing stops one that computes for ever. How
//     long a tool may take is bounded by its own limits and by the time in the budget of
//     its run; what does not end when its ctx does is left behind.
//
// # What is stored
//
// docs/log-format.md describes events as they are stored, field by field.
// docs/ARCHITECTURE.md has the parts around this package, and docs/design why
// things are as they are.
package ponder
