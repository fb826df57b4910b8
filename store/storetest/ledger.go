package storetest

import (
	"testing"
	"time"

	"ponder"
	"ponder/llm"
)

var ledgerChecks = []check{
	{"Request", checkRequest},
	{"Usage", checkUsage},
	{"UsageSince", checkUsageSince},
	{"ClientUsage", checkClientUsage},
	{"UsageOfCopies", checkUsageOfCopies},
}

func callStarted(role ponder.Role, mode, model string) ponder.CallStarted {
	return ponder.CallStarted{Role: role, Mode: mode, Model: model, Reserved: ponder.Cost{Calls: 1, Tokens: 10, Money: 5}, Request: request()}
}

// request returns a request with special characters.
func request() *llm.Request {
	return &llm.Request{
		System:      "be <good> & \x00 日本",
		Messages:    []llm.Message{llm.Say(llm.User, "hi\n")},
		Tools:       []llm.Tool{{Name: "t", Doc: "d", Schema: []byte(`{"type":"object"}`)}},
		MaxTokens:   7,
		Temperature: new(0.25),
	}
}

func callFinished(model string, money ponder.Money) ponder.CallFinished {
	return ponder.CallFinished{
		Model: model, Finish: llm.FinishStop, Message: llm.Say(llm.Assistant, "ho"),
		Usage: llm.Usage{Input: 100, CacheRead: 10, CacheWrite: 1, Output: 20, Reasoning: 5},
		Spent: ponder.Cost{Calls: 1, Tokens: 131, Money: money}, Price: ponder.PriceTable,
	}
}

func checkRequest(t *testing.T, s ponder.Store) {
	createThread(t, s, thr)
	fence := leaseThread(t, s, thr)
	appendEvents(t, s, thr, fence, runEvent(root, "k#1", callStarted("fast", "chat", "p/m")), runEvent(root, "t#1", ponder.ToolCall{Name: "web", Args: []byte(`{"q":1}`)}),
		runEvent(root, "n#1", ponder.CallStarted{Role: "fast", Model: "p/m"}))
	look := func(what string, id ponder.ThreadID, run ponder.RunID, cause string, want *llm.Request) {
		t.Helper()
		checkEqual(t, what, must(s.Request(t.Context(), id, run, cause))(t), want)
	}
	look("stored", thr, root, "k#1", request())
	look("another attempt", thr, root, "k#2", nil)
	look("another run", thr, child, "k#1", nil)
	look("another thread", "thr_b", root, "k#1", nil)
	look("a tool's", thr, root, "t#1", nil)
	look("one that was not given", thr, root, "n#1", nil)
	if ev := readEvents(t, s, thr, 0)[0]; ev.Body.(ponder.CallStarted).Request != nil || !ev.Internal {
		t.Errorf("the event has the request, or is not internal: %+v", ev)
	}
	appendEvents(t, s, thr, fence, runEvent(root, "k#1", callFinished("p/m", 1)))
	look("after it ended", thr, root, "k#1", request())
}

func checkUsage(t *testing.T, s ponder.Store) {
	checkEqual(t, "usage of nothing", len(must(s.Usage(t.Context(), ponder.ByModel, time.Time{}))(t)), 0)
	createThread(t, s, thr)
	createThread(t, s, "thr_b")
	fence, other := leaseThread(t, s, thr), leaseThread(t, s, "thr_b")

	noon := time.Date(2026, 5, 17, 12, 0, 0, 0, time.Local)
	at := func(ev ponder.Event, hours int) ponder.Event {
		ev.Time = noon.Add(time.Duration(hours) * time.Hour)
		return ev
	}
	unknown := callFinished("q/n", 0)
	unknown.Price = ponder.PriceUnknown
	failed := callFinished("", 3)
	failed.Error, failed.Class, failed.Usage = "broke off", llm.Transient, llm.Usage{Input: 50, Estimated: true, Cost: new(int64(3))}
	dropped := callFinished("q/n", 1)
	dropped.Error, dropped.Dropped = "not wanted any more", true
	refused := callFinished("", 0)
	refused.Error, refused.Refused = "budget is spent", true

	appendEvents(t, s, thr, fence, runEvent(root, "a#1", callStarted("fast", "chat", "p/m")), runEvent(root, "b#1", callStarted("slow", "chat", "q/n")),
		runEvent(child, "a#1", callStarted("slow", "deep", "p/m")), runEvent(root, "d#1", callStarted("cheap", "chat", "q/n")), runEvent(root, "t#1", ponder.ToolCall{Name: "web"}), runEvent(root, "r#1", callStarted("fast", "chat", "p/m")))
	appendEvents(t, s, thr, fence, at(runEvent(root, "a#1", callFinished("p/m", 40)), 0), at(runEvent(root, "b#1", unknown), 1), at(runEvent(root, "d#1", dropped), 2),
		runEvent(root, "r#1", refused))
	appendEvents(t, s, thr, fence, at(runEvent(child, "a#1", failed), 13), runEvent(root, "t#1", ponder.ToolResult{Name: "web", Result: "x", Outcome: ponder.Outcome{Error: "no"}}))
	appendEvents(t, s, "thr_b", other, runEvent(root, "a#1", callStarted("fast", "chat", "p/m")), at(runEvent(root, "a#1", callFinished("p/m", 2)), 13))
	appendEvents(t, s, thr, fence, runEvent(root, "still#1", callStarted("fast", "chat", "p/m")))

	full := llm.Usage{Input: 100, CacheRead: 10, CacheWrite: 1, Output: 20, Reasoning: 5}
	broken := llm.Usage{Input: 50, Estimated: true, Cost: new(int64(3))}
	sum := func(a, b llm.Usage) llm.Usage {
		a.Input, a.CacheRead, a.CacheWrite = a.Input+b.Input, a.CacheRead+b.CacheRead, a.CacheWrite+b.CacheWrite
		a.Output, a.Reasoning, a.Estimated = a.Output+b.Output, a.Reasoning+b.Reasoning, a.Estimated || b.Estimated
		if a.Cost == nil {
			a.Cost = b.Cost
		}
		return a
	}
	for by, want := range map[ponder.GroupBy][]ponder.UsageRow{
		ponder.ByThread: {
			{Key: string(thr), Calls: 4, Failed: 1, Usage: sum(sum(sum(full, full), full), broken), Money: 44, Unknown: 1},
			{Key: "thr_b", Calls: 1, Usage: full, Money: 2},
		},
		ponder.ByRun: {
			{Key: string(root), Thread: thr, Calls: 3, Usage: sum(sum(full, full), full), Money: 41, Unknown: 1},
			{Key: string(root), Thread: "thr_b", Calls: 1, Usage: full, Money: 2},
			{Key: string(child), Thread: thr, Calls: 1, Failed: 1, Usage: broken, Money: 3},
		},
		ponder.ByRole: {
			{Key: "cheap", Calls: 1, Usage: full, Money: 1},
			{Key: "fast", Calls: 2, Usage: sum(full, full), Money: 42},
			{Key: "slow", Calls: 2, Failed: 1, Usage: sum(full, broken), Money: 3, Unknown: 1},
		},
		ponder.ByMode: {
			{Key: "chat", Calls: 4, Usage: sum(sum(sum(full, full), full), full), Money: 43, Unknown: 1},
			{Key: "deep", Calls: 1, Failed: 1, Usage: broken, Money: 3},
		},
		ponder.ByModel: {
			{Key: "p/m", Calls: 3, Failed: 1, Usage: sum(sum(full, full), broken), Money: 45},
			{Key: "q/n", Calls: 2, Usage: sum(full, full), Money: 1, Unknown: 1},
		},
		ponder.ByDay: {
			{Key: "2026-05-17", Calls: 3, Usage: sum(sum(full, full), full), Money: 41, Unknown: 1},
			{Key: "2026-05-18", Calls: 2, Failed: 1, Usage: sum(full, broken), Money: 5},
		},
	} {
		checkEqual(t, "by "+string(by), must(s.Usage(t.Context(), by, time.Time{}))(t), want)
	}
	if _, err := s.Usage(t.Context(), "colour", time.Time{}); err == nil {
		t.Error("usage by colour gave no error")
	}
}

// checkClientUsage counts a call that a client made to interpret a sentence, with its role.
func checkClientUsage(t *testing.T, s ponder.Store) {
	createThread(t, s, thr)
	call := &ponder.SteerCall{Role: "cheap", Model: "p/s", Usage: llm.Usage{Input: 7}, Spent: ponder.Cost{Calls: 1, Tokens: 7, Money: 6}, Price: ponder.PriceTable}
	failed := &ponder.SteerCall{Role: "cheap", Model: "p/s", Price: ponder.PriceUnknown, Error: "broke off"}
	appendEvents(t, s, thr, 0, runEvent(root, "steer_1", ponder.Steer{Do: ponder.Interpret, Call: call}), runEvent(root, "steer_2", ponder.Steer{Do: ponder.Interpret, Call: failed}),
		runEvent(root, "steer_3", ponder.Steer{Do: ponder.Interpret}))
	for by, key := range map[ponder.GroupBy]string{ponder.ByRole: "cheap", ponder.ByMode: "steer", ponder.ByModel: "p/s", ponder.ByThread: string(thr)} {
		checkEqual(t, "by "+string(by), must(s.Usage(t.Context(), by, time.Time{}))(t), []ponder.UsageRow{{Key: key, Calls: 2, Failed: 1, Usage: llm.Usage{Input: 7}, Money: 6, Unknown: 1}})
	}
}

func checkUsageSince(t *testing.T, s ponder.Store) {
	createThread(t, s, thr)
	fence := leaseThread(t, s, thr)
	for i, money := range []ponder.Money{1, 10, 100} {
		cause := string(rune('a'+i)) + "#1"
		end := runEvent(root, cause, callFinished("p/m", money))
		end.Time = day.Add(time.Duration(i) * time.Hour)
		appendEvents(t, s, thr, fence, runEvent(root, cause, callStarted("fast", "chat", "p/m")), end)
	}
	for _, c := range []struct {
		name  string
		since time.Time
		want  ponder.Money
	}{
		{"always", time.Time{}, 111},
		{"from the second on", day.Add(time.Hour), 110},
		{"in another zone", day.Add(time.Hour).In(time.FixedZone("", 3600)), 110},
		{"just after the second", day.Add(time.Hour + 1), 100},
		{"after all", day.Add(24 * time.Hour), 0},
	} {
		got := ponder.Money(0)
		for _, row := range must(s.Usage(t.Context(), ponder.ByModel, c.since))(t) {
			got += row.Money
		}
		checkEqual(t, c.name, got, c.want)
	}
}

// checkUsageOfCopies creates a thread with the events of another. The usage counts only
// calls that end later.
func checkUsageOfCopies(t *testing.T, s ponder.Store) {
	createThread(t, s, thr, runEvent(root, "", ponder.RunStarted{Mode: "chat"}),
		runEvent(root, "a#1", callStarted("fast", "chat", "p/m")), runEvent(root, "a#1", callFinished("p/m", 40)),
		runEvent(root, "b#1", callStarted("slow", "deep", "p/m")))
	checkEqual(t, "rows of a copy", len(must(s.Usage(t.Context(), ponder.ByModel, time.Time{}))(t)), 0)
	checkEqual(t, "request of a copy", must(s.Request(t.Context(), thr, root, "b#1"))(t), request())
	appendEvents(t, s, thr, leaseThread(t, s, thr), runEvent(root, "b#1", callFinished("p/m", 2)))
	full := llm.Usage{Input: 100, CacheRead: 10, CacheWrite: 1, Output: 20, Reasoning: 5}
	checkEqual(t, "what came after", must(s.Usage(t.Context(), ponder.ByRole, time.Time{}))(t),
		[]ponder.UsageRow{{Key: "slow", Calls: 1, Usage: full, Money: 2}})
}
