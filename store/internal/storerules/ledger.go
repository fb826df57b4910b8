package storerules

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"ponder"
	"ponder/llm"
)

// A Start is the start of a call, as its result needs it for the ledger.
type Start struct {
	Run   ponder.RunID
	Cause string
	Role  ponder.Role
	Mode  string
	Model string
}

// A Result is a row of the ledger: the end of an attempt.
type Result struct {
	Run    ponder.RunID
	Cause  string
	Tool   string // empty for a call
	Role   ponder.Role
	Mode   string
	Model  string
	Failed bool
	Usage  llm.Usage
	Money  ponder.Money
	Price  ponder.PriceSource
	Time   time.Time
}

// Started returns the Start of an event that starts a call.
func Started(ev ponder.Event) (s Start, ok bool) {
	b, ok := ev.Body.(ponder.CallStarted)
	if !ok || ev.Run == "" || ev.Cause == "" {
		return s, false
	}
	return Start{Run: ev.Run, Cause: ev.Cause, Role: b.Role, Mode: b.Mode, Model: b.Model}, true
}

// Request returns the request that a store keeps with an event, or nil.
func Request(ev ponder.Event) *llm.Request {
	if b, ok := ev.Body.(ponder.CallStarted); ok && ev.Run != "" && ev.Cause != "" {
		return b.Request
	}
	return nil
}

// steerMode is the mode of calls that interpret sentences of users.
const steerMode = "steer"

// WithStart returns r with the fields of its start.
func (r Result) WithStart(s Start) Result {
	r.Role, r.Mode = cmp.Or(s.Role, r.Role), cmp.Or(s.Mode, r.Mode)
	r.Model = cmp.Or(r.Model, s.Model)
	return r
}

// Finished returns the Result of an event that ends an attempt. The result of a call of a run has
// no Role and Mode: see [Result.WithStart]. A call that was not made has none.
func Finished(ev ponder.Event) (r Result, ok bool) {
	switch b := ev.Body.(type) {
	case ponder.CallFinished:
		if !b.Made() {
			return r, false
		}
		r = Result{
			Model: b.Model, Failed: b.Error != "" && !b.Dropped, Usage: b.Usage, Money: b.Spent.Money, Price: b.Price,
		}
	case ponder.ToolResult:
		r = Result{Tool: b.Name, Failed: b.Error != "" && !b.Dropped}
	case ponder.Steer:
		c, ok := ponder.CallOf(ev)
		if !ok {
			return r, false
		}
		r = Result{Role: b.Call.Role, Model: c.Model, Failed: c.Error != "", Usage: c.Usage, Money: c.Spent.Money, Price: c.Price, Mode: steerMode}
	default:
		return r, false
	}
	r.Run, r.Cause, r.Time = ev.Run, ev.Cause, Trim(ev.Time)
	return r, ev.Run != "" && ev.Cause != ""
}

// Group returns the key of a result on a thread.
func (r Result) Group(by ponder.GroupBy, thread ponder.ThreadID) (string, error) {
	switch by {
	case ponder.ByThread:
		return string(thread), nil
	case ponder.ByRun:
		return string(r.Run), nil
	case ponder.ByRole:
		return string(r.Role), nil
	case ponder.ByModel:
		return r.Model, nil
	case ponder.ByMode:
		return r.Mode, nil
	case ponder.ByDay:
		return Day(r.Time), nil
	}
	return "", fmt.Errorf("sum usage by %q: unknown group", by)
}

// Day returns the key of [ponder.ByDay] for a time.
func Day(t time.Time) string { return t.Local().Format(time.DateOnly) }

func (r Result) Row(key string) ponder.UsageRow {
	row := ponder.UsageRow{Key: key, Calls: 1, Usage: r.Usage}
	if r.Failed {
		row.Failed = 1
	}
	if r.Price == ponder.PriceUnknown {
		row.Unknown = 1
	} else {
		row.Money = r.Money
	}
	return row
}

// A Tally sums usage rows by key and thread.
type Tally map[tallyKey]ponder.UsageRow

type tallyKey struct {
	key    string
	thread ponder.ThreadID
}

// Add adds a row to the sum of its key and thread.
func (t Tally) Add(row ponder.UsageRow) {
	key := tallyKey{row.Key, row.Thread}
	sum, ok := t[key]
	if !ok {
		t[key] = row
		return
	}
	sum.Calls += row.Calls
	sum.Failed += row.Failed
	sum.Money += row.Money
	sum.Unknown += row.Unknown
	sum.Usage = addUsage(sum.Usage, row.Usage)
	t[key] = sum
}

func addUsage(a, b llm.Usage) llm.Usage {
	a.Input += b.Input
	a.CacheRead += b.CacheRead
	a.CacheWrite += b.CacheWrite
	a.Output += b.Output
	a.Reasoning += b.Reasoning
	a.Estimated = a.Estimated || b.Estimated
	switch {
	case a.Cost == nil:
		a.Cost = b.Cost
	case b.Cost != nil:
		a.Cost = new(*a.Cost + *b.Cost)
	}
	return a
}

func (t Tally) Rows() []ponder.UsageRow {
	return slices.SortedStableFunc(maps.Values(t), func(a, b ponder.UsageRow) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Thread, b.Thread))
	})
}
