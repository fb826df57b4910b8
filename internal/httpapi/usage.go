package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/compat"
)

func (a *api) registerUsage() {
	op := a.newOperation(auth.Read, http.MethodGet, "/api/usage", "get-usage", "Show model usage and cost", "usage", http.StatusUnprocessableEntity)
	op.Description = "The sums include removed threads. They also include vectors, which have the role `embed` and no thread, run or mode."
	huma.Register(a.huma, op, a.getUsage)
}

type usageOf struct {
	By    string `query:"by" enum:"thread,run,role,model,mode,day" default:"day" doc:"grouping of the sums"`
	Since string `query:"since" maxLength:"40" doc:"start: 24h, 7d, 2026-11-01 or an RFC 3339 time" example:"7d"`
}

type UsageRow struct {
	Key      string  `json:"key"`
	Thread   string  `json:"thread_id,omitempty" doc:"with by=run: the thread, because a fork keeps run IDs"`
	Calls    int     `json:"calls"`
	Failed   int     `json:"failed_calls"`
	Input    int     `json:"input_tokens"` // including cached ones
	Output   int     `json:"output_tokens"`
	Tokens   int     `json:"total_tokens"`
	Micros   int64   `json:"micro_usd"`
	USD      float64 `json:"cost_usd"`
	Unpriced int     `json:"unpriced_calls"` // excluded from cost_usd
}

type usageSums struct {
	Body struct {
		Success bool       `json:"success"`
		By      string     `json:"by"`
		Since   *time.Time `json:"since"`
		Rows    []UsageRow `json:"rows"`
		Total   UsageRow   `json:"total"`
	}
}

func (a *api) getUsage(ctx context.Context, in *usageOf) (*usageSums, error) {
	since, err := sinceOf(in.Since, a.views.now())
	if err != nil {
		return nil, err
	}
	rows, err := a.usageRows(ctx, auth.CallerOf(ctx).Owner, ponder.GroupBy(in.By), since)
	if err != nil {
		return nil, err
	}
	out := &usageSums{}
	out.Body.Success, out.Body.By, out.Body.Rows = true, in.By, []UsageRow{}
	if !since.IsZero() {
		out.Body.Since = &since
	}
	sum := ponder.UsageRow{Key: "all"}
	for _, r := range rows {
		out.Body.Rows = append(out.Body.Rows, usageRowOf(r))
		sum = addUsage(sum, r)
	}
	out.Body.Total = usageRowOf(sum)
	return out, nil
}

func usageRowOf(r ponder.UsageRow) UsageRow {
	return UsageRow{
		Key: compat.Plain(r.Key), Thread: compat.Plain(string(r.Thread)), Calls: r.Calls, Failed: r.Failed, Input: r.Usage.Total() - r.Usage.Output, Output: r.Usage.Output, Tokens: r.Usage.Total(),
		Micros: int64(r.Money), USD: r.Money.USD(), Unpriced: r.Unknown,
	}
}

// addUsage keeps the key of a.
func addUsage(a, b ponder.UsageRow) ponder.UsageRow {
	a.Calls, a.Failed, a.Money, a.Unknown = a.Calls+b.Calls, a.Failed+b.Failed, a.Money+b.Money, a.Unknown+b.Unknown
	u := &a.Usage
	u.Input, u.Output, u.Reasoning = u.Input+b.Usage.Input, u.Output+b.Usage.Output, u.Reasoning+b.Usage.Reasoning
	u.CacheRead, u.CacheWrite = u.CacheRead+b.Usage.CacheRead, u.CacheWrite+b.Usage.CacheWrite
	return a
}

// sinceOf parses "24h", "7d", a day or an RFC 3339 time.
func sinceOf(text string, now time.Time) (time.Time, error) {
	if text = strings.TrimSpace(text); text == "" {
		return time.Time{}, nil
	}
	if day, err := time.ParseInLocation(time.DateOnly, text, time.Local); err == nil {
		return day, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n < 100_000 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, huma.Error422UnprocessableEntity("validation failed", &huma.ErrorDetail{
		Location: "query.since", Message: "expected a duration such as 24h or 7d, a day such as 2026-11-01, or an RFC 3339 time", Value: text,
	})
}

// usageRows returns the usage of an owner. The ledger has no owners: without an [app.Accountant], several
// owners need sums over logs, except by thread.
func (a *api) usageRows(ctx context.Context, owner string, by ponder.GroupBy, since time.Time) ([]ponder.UsageRow, error) {
	alone := len(a.Guard.Owners()) == 1
	if acc, ok := a.Service.(app.Accountant); ok {
		rows, err := acc.Used(ctx, owner, alone, by, since)
		return mergeUsage(rows), a.apiError(err)
	}
	all, err := a.Store.List(ctx, ponder.Filter{})
	if err != nil {
		return nil, a.apiError(err)
	}
	own := slices.DeleteFunc(slices.Clone(all), func(i ponder.Info) bool { return i.Owner != owner })
	alone = alone && len(own) == len(all)
	if !alone && by != ponder.ByThread {
		return a.sumUp(ctx, own, by, since)
	}
	rows, err := a.Store.Usage(ctx, by, since)
	if err != nil {
		return nil, a.apiError(err)
	}
	if alone {
		return rows, nil
	}
	his := make(map[string]bool)
	for _, i := range own {
		his[string(i.ID)] = true
	}
	return slices.DeleteFunc(rows, func(r ponder.UsageRow) bool { return !his[r.Key] }), nil
}

type rowID struct {
	key    string
	thread ponder.ThreadID
}

func idOf(r ponder.UsageRow) rowID { return rowID{r.Key, r.Thread} }

// mergeUsage sums rows with equal key and thread.
func mergeUsage(rows []ponder.UsageRow) []ponder.UsageRow {
	sums := make(map[rowID]ponder.UsageRow)
	for _, r := range rows {
		if sum, ok := sums[idOf(r)]; ok {
			r = addUsage(sum, r)
		}
		sums[idOf(r)] = r
	}
	return slices.SortedStableFunc(maps.Values(sums), func(x, y ponder.UsageRow) int {
		return cmp.Or(cmp.Compare(x.Key, y.Key), cmp.Compare(x.Thread, y.Thread))
	})
}

// maxSummed bounds sumUp.
const maxSummed = 500_000

func (a *api) sumUp(ctx context.Context, own []ponder.Info, by ponder.GroupBy, since time.Time) ([]ponder.UsageRow, error) {
	own = slices.DeleteFunc(own, func(i ponder.Info) bool { return i.Updated.Before(since) })
	events := 0
	for _, i := range own {
		events += int(i.Head)
	}
	if events > maxSummed {
		return nil, huma.Error422UnprocessableEntity(fmt.Sprintf("too many events for this sum: %d, because several owners share the database; limit it with since, or use by=thread", events))
	}
	var all []ponder.UsageRow
	for _, i := range own {
		rows, err := a.sumUpThread(ctx, i.ID, by, since)
		if err != nil {
			return nil, a.apiError(err)
		}
		for _, r := range rows {
			if by == ponder.ByRun {
				r.Thread = i.ID
			}
			all = append(all, r)
		}
	}
	return mergeUsage(all), nil
}

type callID struct {
	run   ponder.RunID
	cause string
}

// sumUpThread ignores events that a fork copied.
func (a *api) sumUpThread(ctx context.Context, id ponder.ThreadID, by ponder.GroupBy, since time.Time) (map[string]ponder.UsageRow, error) {
	sums, begun := make(map[string]ponder.UsageRow), make(map[callID]ponder.CallStarted)
	for ev, err := range a.Store.Events(ctx, id, 0) {
		if err != nil {
			return nil, fmt.Errorf("sum usage of %s: %w", id, err)
		}
		c := callID{ev.Run, ev.Cause}
		switch b := ev.Body.(type) {
		case ponder.CallStarted:
			b.Request = nil
			begun[c] = b
		case ponder.SystemNote:
			if b.From != "" { // copies precede it
				clear(sums)
			}
		case ponder.Steer:
			if b.Call != nil {
				begun[c] = ponder.CallStarted{Role: b.Call.Role, Mode: "steer"}
			}
		}
		if b, ok := ponder.CallOf(ev); ok {
			if b.Made() && !ev.Time.Before(since) {
				row := callRow(b, groupOf(ev, b, begun[c], by))
				sums[row.Key] = addUsage(row, sums[row.Key])
			}
			delete(begun, c)
		}
	}
	return sums, nil
}

func callRow(b ponder.CallFinished, key string) ponder.UsageRow {
	row := ponder.UsageRow{Key: key, Calls: 1, Usage: b.Usage}
	if b.Error != "" && !b.Dropped {
		row.Failed = 1
	}
	if b.Price == ponder.PriceUnknown {
		row.Unknown = 1
	} else {
		row.Money = b.Spent.Money
	}
	return row
}

func groupOf(ev ponder.Event, b ponder.CallFinished, start ponder.CallStarted, by ponder.GroupBy) string {
	switch by {
	case ponder.ByRun:
		return string(ev.Run)
	case ponder.ByRole:
		return string(start.Role)
	case ponder.ByModel:
		return cmp.Or(b.Model, start.Model)
	case ponder.ByMode:
		return start.Mode
	case ponder.ByDay:
		return ev.Time.Local().Format(time.DateOnly)
	}
	return string(ev.Thread)
}
