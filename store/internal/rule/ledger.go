package rule

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"ponder"
	"ponder/llm"
)

// An Attempt is the row that the intent to call a model or to use a tool makes
// in the ledger.
type Attempt struct {
	Run     ponder.RunID
	Cause   string
	Tool    string // empty for a call
	Role    ponder.Role
	Mode    string
	Model   string
	Held    ponder.Cost
	Request string // JSON of what the model is sent, or of the tool's arguments; empty if not known
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

// Started returns the row of an event that is such an intent.
func Started(ev ponder.Event) (a Attempt, ok bool, err error) {
	switch b := ev.Body.(type) {
	case ponder.CallStarted:
		a = Attempt{Role: b.Role, Mode: b.Mode, Model: b.Model, Held: b.Held}
		if b.Request != nil {
			js, err := json.Marshal(b.Request)
			if err != nil {
				return a, false, fmt.Errorf("encode request of %s %s: %w", ev.Run, ev.Cause, err)
			}
			a.Request = string(js)
		}
	case ponder.ToolCall:
		a = Attempt{Tool: b.Name, Request: string(b.Args)}
	default:
		return a, false, nil
	}
	a.Run, a.Cause = ev.Run, ev.Cause
	return a, ev.Run != "" && ev.Cause != "", nil
}

// Finished returns the row of an event that ends an attempt; Role and Mode are
// those of its beginning. A call that was refused was never made, and has none.
func Finished(ev ponder.Event) (r Result, ok bool) {
	switch b := ev.Body.(type) {
	case ponder.CallFinished:
		if b.Refused {
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

// A Tally sums usage rows by key.
type Tally map[string]ponder.UsageRow

// Add adds a row to that of the same key.
func (t Tally) Add(row ponder.UsageRow) {
	sum, ok := t[row.Key]
	if !ok {
		t[row.Key] = row
		return
	}
	sum.Calls += row.Calls
	sum.Failed += row.Failed
	sum.Money += row.Money
	sum.Unknown += row.Unknown
	sum.Usage = plus(sum.Usage, row.Usage)
	t[row.Key] = sum
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

// Rows returns the rows, sorted by key.
func (t Tally) Rows() []ponder.UsageRow {
	return slices.SortedFunc(maps.Values(t), func(a, b ponder.UsageRow) int { return cmp.Compare(a.Key, b.Key) })
}
