// Package quota limits the cost of models: of a token per day with [Quotas], of an evaluation
// with [Budget]. Both are a [Payer], which reserves the maximal cost of a call and settles the
// real one.
//
// The quotas are in the tables serve_thread, serve_day and serve_cost. A trigger adds the cost
// of a call in the transaction that logs its result, so that they agree after a crash. See
// docs/design/quotas.md.
package quota
