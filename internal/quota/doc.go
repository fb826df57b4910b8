// Package quota limits what models may cost: what a token may cost and start in a day
// ([Quotas]), and what an evaluation may cost ([Budget]). Both are a [Payer]: a call reserves
// what it may cost, is made, and settles what it has cost.
//
// The rows of the quotas are in the tables serve_thread, serve_day and serve_cost. A trigger
// adds the cost of each call to them in the transaction that appends its result to the log,
// so that they agree with the log after a crash. docs/design/quotas.md has the reasons.
package quota
