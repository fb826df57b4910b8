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

// A Start is what the intent to call a model or to use a tool says of the
// result that it comes to.
type Start struct {
	Run   ponder.RunID
	Cause string
	Role  ponder.Role
	Mode  string
	Model string
}

// A Result is the row that the end of an attempt makes in the ledger.
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

// Started returns what an event that is such an intent says. The use of a tool
// has no role, mode or model.
func Started(ev ponder.Event) (s Start, ok bool) {
	b, ok := ev.Body.(ponder.CallStarted)
	if !ok || ev.Run == "" || ev.Cause == "" {
		return s, false
	}
	return Start{Run: ev.Run, Cause: ev.Cause, Role: b.Role, Mode: b.Mode, Model: b.Model}, true
}

// Request returns the request that is to be kept with an event, or nil.
func Request(ev ponder.Event) *llm.Request {
	if b, ok := ev.Body.(ponder.CallStarted); ok && ev.Run != "" && ev.Cause != "" {
		return b.Request
	}
	return nil
}

// Follows returns r with what its beginning says of it.
func (r Result) Follows(s Start) Result {
	r.Role, r.Mode = s.Role, s.Mode
	r.Model = cmp.Or(r.Model, s.Model)
	return r
}

// Finished returns the row of an event that ends an attempt; Role and Mode are
// those of its beginning. A call that was never made has none.
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
	default:
		return r, false
	}
	r.Run, r.Cause, r.Time = ev.Run, ev.Cause, Trim(ev.Time)
	return r, ev.Run != "" && ev.Cause != ""
}

// Group returns what a result on a thread is summed under.
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
	return "", fmt.Errorf("usage by %q: no such group", by)
}

// Day returns what ponder.ByDay calls the day of t.
func Day(t time.Time) string { return t.Local().Format(time.DateOnly) }

// Row returns a usage row of one result.
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

// A Tally sums usage rows by key, and by thread where they have one.
type Tally map[tallied]ponder.UsageRow

// Tallied is what a row is a sum of.
type tallied struct {
	key    string
	thread ponder.ThreadID
}

// Add adds a row to that of the same key.
func (t Tally) Add(row ponder.UsageRow) {
	of := tallied{row.Key, row.Thread}
	sum, ok := t[of]
	if !ok {
		t[of] = row
		return
	}
	sum.Calls += row.Calls
	sum.Failed += row.Failed
	sum.Money += row.Money
	sum.Unknown += row.Unknown
	sum.Usage = plus(sum.Usage, row.Usage)
	t[of] = sum
}

func plus(a, b llm.Usage) llm.Usage {
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

// Rows returns the rows, sorted by key and thread.
func (t Tally) Rows() []ponder.UsageRow {
	return slices.SortedStableFunc(maps.Values(t), func(a, b ponder.UsageRow) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Thread, b.Thread))
	})
}
