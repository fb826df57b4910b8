// Package engine runs modes on threads. It performs the actions that modes want and
// appends the results to the log.
//
// # The files
//
// In reading order:
//
//	engine.go       the engine of a process, and [Engine.Work]
//	threadstate.go  the fold of a thread: its runs (run.go), the actions in flight
//	                (cause.go) and the finished actions (keys.go)
//	decide.go       the next decisions; admit.go fits calls into budgets
//	holder.go       the loop of the process that holds a thread
//	perform.go      starts actions and uses tools; call.go asks models
//	redact.go       removes secrets from answers before they are stored
//	encodable.go    replaces decisions and results that a store refuses
//	inbox.go        messages from this process to a thread
//	checkpoint.go   saves folds, so that a long thread opens fast; statecache.go keeps
//	                them in memory between runs
//	node.go         registers the process as a node of the store
//	fork.go         copies a thread up to an event
//
// The files threadstate.go, run.go, decide.go and admit.go are pure, as modes are: they use
// no clock, no I/O and no goroutines.
//
// # The guarantees
//
// Each guarantee has a test.
//
//   - A log that is cut after any event and resumed produces the events of an uncut log.
//     Only identifiers, times and the order of concurrent events differ. The engine never
//     repeats a call whose result is in the log. It repeats a call that was in flight with
//     the same request.
//   - Two processes never both commit decisions of a run. A commit carries the fence of a
//     lease, and the store refuses a lease that is not in force.
//   - The engine commits a decision only if it had read the thread to its end. A message
//     that arrives while a run ends therefore gets an answer.
//   - Budgets hold for any usage that a model claims: see [ponder.Budget].
//   - A completed run has an answer, and every finished run has a reason.
//   - A run ends even if its model, mode or tool hangs, panics, or returns nonsense. A
//     mode must return, because the engine cannot stop a computation. The limits of a
//     tool and the time budget of its run bound a tool. The engine abandons a tool that
//     ignores its ctx.
package engine
