package real

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// A figure is the measurement of one run, or the sum of several.
type figure struct {
	name, server string
	calls        int // sent and ended
	useful       int // of them: answered, and not asked again
	again        int // repeats of unreadable answers
	failed       int // with an error
	cut          int // ended by the run itself; not in calls
	prompt       int // tokens
	cached       int // of them
	output       int
	thoughts     int // also questions, of the model
	words        int // of the answer
	took, limit  time.Duration
	useless      []string // keys of calls without a useful answer, with their errors
}

// measure counts the calls of a run. A call is useful if it has an answer that the run accepts
// as it is: the run neither fails, nor asks again, nor continues without the model. A call that
// the run ended itself, because of a limit or a command, does not count.
func measure(events []event) (f figure) {
	retried := map[string]bool{}
	for _, e := range events {
		if key, again := e.key(); again && e.Type == "call_started" {
			retried[e.Run+" "+key] = true
		}
		if e.Data.WithoutModel {
			continue
		}
		switch e.Type {
		case "thought", "sub_question":
			f.thoughts++
		case "run_finished", "assistant_message":
			f.words = max(f.words, len(strings.Fields(e.Content)))
		}
	}
	for _, e := range events {
		if e.Type == "question_updated" && strings.HasPrefix(e.Reason, "the model failed on") {
			f.useful-- // its answer was not used
			f.useless = append(f.useless, e.Reason)
		}
		if e.Type != "call_finished" || e.Data.Unsent || e.Data.Refused {
			continue
		}
		if e.Data.Dropped || e.Data.Class == "cancelled" {
			f.cut++
			continue
		}
		f.calls++
		f.prompt += e.Usage.Input + e.Usage.CacheRead
		f.cached += e.Usage.CacheRead
		f.output += e.Usage.Output
		key, again := e.key()
		switch {
		case e.Data.Error != "":
			f.failed++
			f.useless = append(f.useless, key+": "+e.Data.Error)
		case again:
			f.again++
			f.useful++
		case !retried[e.Run+" "+key]:
			f.useful++
		default:
			f.useless = append(f.useless, key+": asked again")
		}
	}
	return f
}

func (f figure) usefulShare() float64 { return float64(f.useful) / float64(max(1, f.calls)) }

func (f figure) add(o figure) figure {
	f.calls, f.useful, f.again, f.failed = f.calls+o.calls, f.useful+o.useful, f.again+o.again, f.failed+o.failed
	f.cut += o.cut
	f.useless = append(slices.Clip(f.useless), o.useless...)
	f.prompt, f.cached, f.output = f.prompt+o.prompt, f.cached+o.cached, f.output+o.output
	f.thoughts, f.words, f.took = f.thoughts+o.thoughts, f.words+o.words, f.took+o.took
	return f
}

// A table collects figures. It is safe for concurrent use.
type table struct {
	mu   sync.Mutex
	rows []figure
}

var figures table

func (t *table) append(f figure) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = append(t.rows, f)
}

// sum returns the sum of the figures of a server.
func (t *table) sum(server string) (all figure) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all.name, all.server = "all", server
	for _, f := range t.rows {
		if f.server == server {
			all = all.add(f)
		}
	}
	return all
}

// format returns the table, or "" if it is empty.
func (t *table) format() string {
	t.mu.Lock()
	rows := slices.Clone(t.rows)
	t.mu.Unlock()
	if len(rows) == 0 {
		return ""
	}
	slices.SortStableFunc(rows, func(a, b figure) int { return cmp.Compare(a.server, b.server) })
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "server\trun\tcalls\tuseful\tagain\tfailed\tcut\tprompt\tcached\toutput\tthoughts\twords\ttime\tlimit")
	for i, f := range rows {
		writeFigure(w, f)
		if i+1 == len(rows) || rows[i+1].server != f.server {
			writeFigure(w, t.sum(f.server))
		}
	}
	w.Flush()
	return text.String()
}

func writeFigure(w *tabwriter.Writer, f figure) {
	limit := "-"
	if f.limit > 0 {
		limit = f.limit.String()
	}
	share := 0.0
	if f.prompt > 0 {
		share = float64(f.cached) / float64(f.prompt)
	}
	fmt.Fprintf(w, "%s\t%s\t%d\t%.0f %%\t%d\t%d\t%d\t%d\t%.0f %%\t%d\t%d\t%d\t%s\t%s\n", f.server, f.name, f.calls, 100*f.usefulShare(), f.again, f.failed,
		f.cut, f.prompt, 100*share, f.output, f.thoughts, f.words, f.took.Round(time.Second), limit)
}
