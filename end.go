package ponder

import (
	"strings"
	"time"

	"ponder/internal/textkit"
)

// An EndReason is the code of the reason for the end of a run. [RunFinished] stores it beside its
// text; see [RunFinished.EndReason] for events of older versions.
type EndReason string

// The reasons. A run that a budget ends has the reason of that budget, even if it had concluded for
// another reason before the budget prevented its answer.
const (
	EndComplete    EndReason = "complete"      // the work is done
	EndSettled     EndReason = "settled"       // the question is simple and answered
	EndLoop        EndReason = "loop"          // the last calls added nothing new
	EndPlateau     EndReason = "plateau"       // the confidence does not change any more
	EndLowValue    EndReason = "low_value"     // another call would cost more than it gains
	EndTime        EndReason = "budget_time"   // BudgetSpent of time
	EndCalls       EndReason = "budget_calls"  // BudgetSpent of calls
	EndTokens      EndReason = "budget_tokens" // BudgetSpent of tokens
	EndMoney       EndReason = "budget_money"  // BudgetSpent of money
	EndUser        EndReason = "user"          // the user requested the answer
	EndSources     EndReason = "sources"       // the sources have nothing more
	EndNoModel     EndReason = "no_model"      // no model is available
	EndModelFailed EndReason = "model_failed"  // the calls of the model failed
	EndEarlier     EndReason = "ended_before"  // an older version had ended it
	EndCancelled   EndReason = "cancelled"     // the user cancelled it
	EndFailed      EndReason = "failed"        // any other failure
)

// budgetPrefix starts the reasons of budgets.
const budgetPrefix = "budget_"

// IsBudget reports whether a limit of the budget is the reason.
func (r EndReason) IsBudget() bool { return strings.HasPrefix(string(r), budgetPrefix) }

// EndReason returns the reason of a run that this event ends.
func (b BudgetSpent) EndReason() EndReason { return EndReason(budgetPrefix + b.What) }

// String describes the reached limit, with its figure if the event has it: "budget of $0.01 reached".
func (b BudgetSpent) String() string {
	l := b.Limit
	switch {
	case b.What == "money" && l.Money > 0:
		return "budget of " + l.Money.String() + " reached"
	case b.What == "time" && l.Time > 0:
		return "time limit of " + shortDuration(l.Time) + " reached"
	case b.What == "calls" && l.Calls > 0:
		return "limit of " + textkit.Count(l.Calls, "call", "calls") + " reached"
	case b.What == "tokens" && l.Tokens > 0:
		return "limit of " + textkit.Count(l.Tokens, "token", "tokens") + " reached"
	}
	switch b.What {
	case "money", "":
		return "budget reached"
	case "time":
		return "time limit reached"
	}
	return "limit of " + b.What + " reached"
}

// shortDuration formats a time without zero parts: "3m", "1h30m".
func shortDuration(d time.Duration) string {
	s := d.Round(time.Millisecond).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// SpentOf returns the event that the limit named what is reached: time, calls, tokens or money.
func (b Budget) SpentOf(what string) BudgetSpent {
	spent := BudgetSpent{What: what}
	switch what {
	case "time":
		spent.Limit.Time = b.Time
	case "calls":
		spent.Limit.Calls = b.Calls
	case "tokens":
		spent.Limit.Tokens = b.Tokens
	case "money":
		spent.Limit.Money = b.Money
	}
	return spent
}

// oldReasons maps the start of texts of older versions to reasons.
var oldReasons = []struct {
	text   string
	reason EndReason
}{
	{"time is spent", EndTime},
	{"calls are spent", EndCalls},
	{"tokens are spent", EndTokens},
	{"money is spent", EndMoney},
	{"the question is settled", EndSettled},
	{"loop: ", EndLoop},
	{"plateau: ", EndPlateau},
	{"another call would cost more than it gains", EndLowValue},
	{"the user requested the answer", EndUser},
	{"the answer is complete", EndComplete},
	{"the model failed", EndModelFailed},
	{"the session had concluded before", EndEarlier},
}

// EndReason returns the reason of the end. For an event of an older version, it follows from the text
// and the status.
func (b RunFinished) EndReason() EndReason {
	if b.End != "" {
		return b.End
	}
	for _, old := range oldReasons {
		if strings.HasPrefix(b.Reason, old.text) {
			return old.reason
		}
	}
	switch b.Status {
	case Cancelled:
		return EndCancelled
	case Failed:
		return EndFailed
	}
	return ""
}
