package report

import (
	"fmt"
	"time"

	"ponder"
	"ponder/llm"
	"ponder/mode/session"
)

const run ponder.RunID = "run_01JQ7M3V8K"

type eventRecorder struct {
	evs []ponder.Event
	at  time.Duration
}

// appendAt appends bodies at a time since the start.
func (d *eventRecorder) appendAt(at string, bodies ...ponder.Body) {
	t, err := time.ParseDuration(at)
	if err != nil {
		panic(err)
	}
	d.at = t
	for _, b := range bodies {
		n := len(d.evs) + 1
		ev := ponder.Event{ID: fmt.Sprintf("evt_%d", n), Run: run, Cause: fmt.Sprintf("k-%d/1.1", n), Elapsed: t, Body: b}
		if n == 2 {
			ev.Cause = "focus-1/1.1" // starts the session's clock
		}
		d.evs = append(d.evs, ev.Stamp("thr_01JQ7M3V8KX4T2", ponder.Seq(n), time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC).Add(t)))
	}
}

func (d *eventRecorder) appendSteer(at string, b ponder.Steer, came ponder.Progress, effects ...ponder.Body) {
	d.appendAt(at, b)
	came.Stage, came.Ref, came.Label = "steered", d.evs[len(d.evs)-1].ID, string(b.Do)
	d.appendAt(at, append(effects, came)...)
}

func (d *eventRecorder) appendCall(model string, in, out int, money ponder.Money, fault string) {
	b := ponder.CallFinished{Model: model, Usage: llm.Usage{Input: in, Output: out}, Spent: ponder.Cost{Calls: 1, Tokens: in + out, Money: money}, Price: ponder.PriceTable}
	b.Error = fault
	d.appendAt(d.at.String(), b)
}

func (d *eventRecorder) appendThought(at, kind string, sure float64, question, focus, text string, cites ...string) {
	t, _ := time.ParseDuration(at)
	n := 0
	for _, ev := range d.evs {
		if _, ok := ev.Body.(ponder.Thought); ok {
			n++
		}
	}
	th := ponder.Thought{Content: text, Number: n, Kind: kind, Confidence: sure, Question: question, Focus: focus, Cites: cites, Offset: t.Seconds(), Model: "anthropic/claude-opus-4-6"}
	if question == "q5" && sure == 0.35 {
		th.Against = []string{"c1"}
	}
	d.appendAt(at, th)
}

func (d *eventRecorder) sessionView() session.View {
	v := session.NewView()
	for _, ev := range d.evs {
		v = v.Apply(ev)
	}
	return v
}

// halfHourSession returns a session of half an hour with all kinds of events.
func halfHourSession() *eventRecorder {
	const (
		q    = "Should we move our 40-service backend from one Postgres cluster to a database per service?"
		fail = "What fails today because the cluster is shared?"
		join = "Which queries join tables of several services?"
		run  = "What would running forty databases cost in people?"
		step = "Is there a half-way house?"
		back = "How would we go back if it does not work?"
		lock = "Are the locks from migrations or from traffic?"
	)
	d := &eventRecorder{}
	d.appendAt("0s", ponder.RunStarted{Mode: session.Name, Input: q, Budget: ponder.Budget{Time: 30 * time.Minute}, Options: []byte(`{"parallel":2,"docs":["/srv/notes"]}`)},
		ponder.Progress{Stage: "focus", Content: q, Iteration: 1},
		ponder.Evidence{ID: "e1", Source: "/srv/notes/incidents-2025.md", Title: "Incidents 2025", Start: 1840, End: 1979, Content: "Eleven of fourteen outages began with one service's migration holding locks that every other service then waited for."},
		ponder.Evidence{ID: "e2", Source: "/srv/notes/queries.md", Title: "Query inventory", Start: 220, End: 301, Content: "Of 612 statements, 37 join tables that belong to more than one service; 29 of them are reports."},
		ponder.Evidence{ID: "e3", Source: "thread:thr_01JPA2Q0", Title: "What keeps our deploys slow?", Content: "Deploys wait for migrations, not for builds: the median migration window is 46 minutes."},
		ponder.Evidence{ID: "e4", Source: "https://example.org/schemas-per-service?x=1&y=2", Title: "Schemas per service", Start: 10, End: 120, Content: "Separate schemas with separate roles gave us most of the isolation, and none of the operations."},
		ponder.Evidence{ID: "e5", Source: "/srv/notes/team.md", Title: "Team", Start: 0, End: 30, Content: "Two people run databases, part-time."},
	)
	d.appendThought("41s", "exploration", 0.5, "", q, "The question bundles two others: *isolation of failures* and *independence of teams*. They may have different answers.")
	d.appendThought("41s", "insight", 0.62, "", q, "Most outages are of one kind: a migration takes a lock and everyone waits [e1]. That is a problem of locks, not of sharing as such.", "e1")
	d.appendThought("41s", "critique", 0.55, "", q, "“A database per service” is often advice for organisations ten times our size.")
	d.appendCall("anthropic/claude-opus-4-6", 3120, 890, 37850, "")
	d.appendAt("1m10s", ponder.SubQuestion{ID: "q1", Content: fail, Priority: 9, Why: "It says which problem is to be solved."}, ponder.SubQuestion{ID: "q2", Content: join, Priority: 8}, ponder.SubQuestion{ID: "q3", Content: run, Priority: 7})
	d.appendCall("anthropic/claude-opus-4-6", 2890, 310, 22200, "")
	d.appendAt("1m30s", ponder.Progress{Stage: "focus", Content: fail, Iteration: 2, Ref: "q1"}, ponder.Progress{Stage: "focus", Content: join, Iteration: 3, Ref: "q2"})
	d.appendThought("2m20s", "insight", 0.74, "q1", fail, "Eleven of fourteen outages have one cause, long locks in migrations [e1]; `lock_timeout` and small steps would have prevented at least nine.", "e1")
	d.appendThought("2m20s", "connection", 0.66, "q1", fail, "An earlier session came to the same from another side: deploys wait for migrations [e3].", "e3")
	d.appendAt("2m20s", ponder.QuestionUpdated{ID: "q1", Explored: true, Insights: "Locks held by migrations caused 11 of 14 outages [e1]; sharing only spread them."})
	d.appendCall("anthropic/claude-opus-4-6", 3900, 720, 37500, "")
	d.appendThought("3m5s", "insight", 0.7, "q2", join, "Only 37 of 612 statements cross services, and 29 of them are reports [e2] that a replica could serve.", "e2")
	d.appendAt("3m5s", ponder.QuestionUpdated{ID: "q2", Explored: true, Insights: "Eight statements in the request path cross services; the rest are reports [e2]."}, ponder.Progress{Stage: "merged", Thoughts: []int{1}, Content: "said again: migrations take locks"})
	d.appendCall("anthropic/claude-opus-4-6", 4100, 610, 35750, "anthropic: overloaded")
	d.appendAt("4m", ponder.SubQuestion{ID: "q4", Parent: "q1", Content: lock, Priority: 6}, ponder.SubQuestion{ID: "q5", Parent: "q2", Content: step, Priority: 8})
	d.appendAt("5m", ponder.Synthesis{Number: 0, Offset: 300, Confidence: 0.44, Trend: "converging", Content: "The outages come from locks in migrations. Whether splitting is worth it depends on what it costs to run.", Insights: []string{"Locks, not sharing, cause the outages."}, Remaining: []string{"What it costs in people"}, Basis: ponder.Basis{Agreement: 0.4, Support: 0.6}})
	d.appendSteer("6m30s", ponder.Steer{Do: ponder.AddQuestion, Content: back, Args: []byte(`{"priority":9}`)}, ponder.Progress{Content: "question q6 added: " + back}, ponder.SubQuestion{ID: "q6", Content: back, Priority: 9, By: "user"})
	d.appendSteer("7m10s", ponder.Steer{Do: ponder.Correct, Content: "There are 43 services by now, not 40."}, ponder.Progress{Content: "c1: There are 43 services by now, not 40.", Cancelled: []string{"thoughts-4"}})
	d.appendAt("7m20s", ponder.Progress{Stage: "focus", Content: back, Iteration: 4, Ref: "q6"}, ponder.Progress{Stage: "focus", Content: step, Iteration: 5, Ref: "q5"})
	d.appendThought("8m30s", "exploration", 0.52, "q6", back, "Going back means merging data that has diverged. Logical replication in both directions would keep the way open for some weeks.")
	d.appendThought("8m30s", "critique", 0.6, "q6", back, "Nobody tests the way back. Without a date for the decision it will not exist.")
	d.appendAt("8m30s", ponder.QuestionUpdated{ID: "q6", Explored: true, Insights: "The way back stays open for about six weeks, if it is rehearsed."})
	d.appendThought("9m40s", "insight", 0.81, "q5", step, "A **schema and a role per service** in the same cluster isolates ownership, and `lock_timeout` per role isolates failures [e4]. It takes weeks, not a year.", "e4")
	d.appendThought("9m40s", "exploration", 0.35, "q5", step, "Forty schemas in one cluster share its memory and its one write-ahead log.")
	d.appendAt("9m40s", ponder.QuestionUpdated{ID: "q5", Explored: true, Insights: "Yes: schemas and roles per service first [e4]. It gives most of the isolation and forecloses nothing."})
	d.appendCall("anthropic/claude-opus-4-6", 5200, 940, 49500, "")
	d.appendAt("10m", ponder.Synthesis{Number: 1, Offset: 600, Confidence: 0.58, Trend: "converging", Content: "There is a half-way house that solves the measured problem:\n\n1. a schema and a role for each service,\n2. `lock_timeout` per role,\n3. reports on a replica.", Insights: []string{"Schemas per service isolate ownership."}, Basis: ponder.Basis{Agreement: 0.5, Support: 0.7, Stability: 0.33}})
	d.appendSteer("11m", ponder.Steer{Do: ponder.PinSource, Args: []byte(`{"source":"/srv/notes/team.md"}`)}, ponder.Progress{Content: "/srv/notes/team.md is looked into first"})
	d.appendSteer("11m30s", ponder.Steer{Do: ponder.DropQuestion, Args: []byte(`{"question":"q99"}`)}, ponder.Progress{Content: "there is no question q99", Refused: true})
	d.appendAt("12m", ponder.Progress{Stage: "focus", Content: run, Iteration: 6, Ref: "q3"})
	d.appendThought("13m", "insight", 0.77, "q3", run, "Two people run databases part-time [e5]. Forty of them need backups, upgrades and alerts forty times: about two more people.", "e5")
	d.appendThought("13m", "question", 0.4, "q3", run, "Would a managed offering change this? It moves the upgrades, not the alerts.")
	d.appendAt("13m", ponder.QuestionUpdated{ID: "q3", Explored: true, Insights: "About two more people, or a managed service at roughly three times today's bill."}, ponder.SubQuestion{ID: "q7", Parent: "q3", Content: "Which services need an isolation that a schema can't give?", Priority: 7})
	d.appendCall("openai/gpt-5.2", 4700, 510, 15365, "")
	d.appendAt("15m", ponder.Synthesis{Number: 2, Offset: 900, Confidence: 0.55, Trend: "diverging", Content: "Cost speaks against a full split. A few services may still need one."})
	d.appendAt("16m", ponder.QuestionUpdated{ID: "q4", Dropped: true, Reason: "not wanted any more"}, ponder.Progress{Stage: "focus", Content: "Which services need an isolation that a schema can't give?", Iteration: 7, Ref: "q7"})
	d.appendThought("18m", "connection", 0.72, "q7", "Which services need an isolation that a schema can't give?", "Payments and audit: the one for its auditors, the other for its volume. Two, not forty-three.")
	d.appendAt("18m", ponder.QuestionUpdated{ID: "q7", Explored: true, Insights: "Two: payments and audit."}, ponder.SubQuestion{ID: "q8", Parent: "q7", Content: "When would payments have to move?", Priority: 5})
	d.appendAt("20m", ponder.Synthesis{Number: 3, Offset: 1200, Confidence: 0.71, Trend: "converging", Content: "Split two, separate the rest by schema.", Basis: ponder.Basis{Agreement: 0.6, Support: 0.7, Stability: 0.33}})
	d.appendAt("25m", ponder.Synthesis{Number: 4, Offset: 1500, Confidence: 0.76, Trend: "plateau", Content: "As before.", Basis: ponder.Basis{Agreement: 0.7, Support: 0.7, Stability: 0.67}})
	d.appendCall("anthropic/claude-opus-4-6", 6100, 1200, 60500, "")
	answer := "**No, not all of it.** Give each service a schema and a role in the cluster that you have, and move only payments and audit to databases of their own.\n\n" +
		"The problem that was measured is not that the cluster is shared, but that migrations hold locks that everyone waits for: eleven of fourteen outages began so [e1]. That is cured in weeks:\n\n" +
		"1. **`lock_timeout` per role**, and migrations in small steps,\n2. **a schema per service**, which settles who owns what [e4],\n3. **a replica for the 29 reports** that join across services [e2].\n\n" +
		"Forty-three databases would need about two more people [e5], whom you do not have.\n\n| option | isolation | people | time |\n|:---|:---|---:|---:|\n| as it is | none | 0 | – |\n| schemas | most | 0.2 | 6 weeks |\n| a database each | all | 2 | a year |\n\n" +
		"What would change this answer: an auditor who wants more separation, or a service whose volume starves the others."
	d.appendAt("30m12s", ponder.BudgetSpent{What: "time"}, ponder.Synthesis{
		Number: 5, Offset: 1812, Confidence: 0.78, Trend: "plateau", Final: true, Content: answer, Cites: []string{"e1", "e2", "e4", "e5"},
		Insights:  []string{"Locks in migrations, not sharing, cause the outages [e1].", "A schema per service gives most of the isolation for a tenth of the effort [e4].", "Only *payments* and *audit* need more."},
		Remaining: []string{"When would payments have to move?", "Does the replica keep up at month's end?"}, Basis: ponder.Basis{Agreement: 0.7, Support: 0.8, Stability: 1},
	})
	d.appendCall("anthropic/claude-opus-4-6", 7200, 1400, 71000, "")
	d.appendAt("30m12s", ponder.SystemNote{Content: "Not read: /srv/notes/scan.pdf: a format that is not read"}, ponder.RunFinished{Status: ponder.Completed, Answer: answer, Reason: "time is spent", Confidence: 0.78})
	return d
}
