package main

import (
	"fmt"
	"strings"

	"ponder/internal/app"
	"ponder/internal/steering"
)

type badInput map[string]any

// An invalidInput must be refused by every surface that offers its use case, with equal code
// and field.
type invalidInput struct {
	Use   string
	Name  string
	In    badInput
	Code  app.Code
	Field string // the wrong field; empty: the whole input or its object
	Not   string // surfaces that cannot express it: app, cli, http, mcp
}

const (
	endedSession  = "thr_01JABCDEFGHJKMNPQRSTVWXYE1"
	pausedSession = "thr_01JABCDEFGHJKMNPQRSTVWXYP1"
	aConversation = "thr_01JABCDEFGHJKMNPQRSTVWXYC1"
	noThread      = "thr_01JABCDEFGHJKMNPQRSTVWXYN1" // does not exist
)

const question = "Why is the sea salt?"

func longText(n int) string { return strings.Repeat("a", n+1) }

func invalidInputs() []invalidInput {
	rows := make([]invalidInput, 0, 100)
	add := func(use, name, field string, in badInput) *invalidInput {
		rows = append(rows, invalidInput{Use: use, Name: name, In: in, Code: app.Invalid, Field: field})
		return &rows[len(rows)-1]
	}
	missing := func(use, field string, in badInput) *invalidInput {
		r := add(use, "an unknown id", field, in)
		r.Code = app.NotFound
		return r
	}
	for _, use := range []string{"start", "research"} {
		add(use, "no question", "question", badInput{"question": ""})
		add(use, "a blank question", "question", badInput{"question": " \t\n "})
		add(use, "a short question", "question", badInput{"question": "ab"})
		add(use, "a question of punctuation", "question", badInput{"question": "?!?!"})
		add(use, "a question of control characters", "question", badInput{"question": "\x1b[31m\u202e\u2066"})
		add(use, "a long question", "question", badInput{"question": longText(app.MaxQuestion)})
		add(use, "a question that is not UTF-8", "question", badInput{"question": "salt \xff\xfe"}).Not = "http mcp"
		add(use, "an unknown provider", "model_id", badInput{"question": question, "model_id": "none/none"})
		add(use, "a model without a provider", "model_id", badInput{"question": question, "model_id": "none"})
		add(use, "a negative time", "duration_minutes", badInput{"question": question, "duration_minutes": -1.0})
		add(use, "too long a time", "duration_minutes", badInput{"question": question, "duration_minutes": 1500.0})
		add(use, "a negative number of calls", "max_calls", badInput{"question": question, "max_calls": -1})
		add(use, "too many calls", "max_calls", badInput{"question": question, "max_calls": app.MaxCalls + 1})
		add(use, "a negative number of tokens", "max_tokens", badInput{"question": question, "max_tokens": -1}).Not = "mcp"
		add(use, "too many tokens", "max_tokens", badInput{"question": question, "max_tokens": 2_000_000_000}).Not = "mcp"
		add(use, "a negative cost", "max_cost_usd", badInput{"question": question, "max_cost_usd": -1.0})
		add(use, "too high a cost", "max_cost_usd", badInput{"question": question, "max_cost_usd": 2e6})
		add(use, "too much at a time", "parallel", badInput{"question": question, "parallel": app.MaxParallel + 1}).Not = "mcp"
	}
	add("start", "a negative interval", "synthesis_interval_seconds", badInput{"question": question, "synthesis_interval_seconds": -5.0}).Not = "mcp"
	add("start", "too long an interval", "synthesis_interval_seconds", badInput{"question": question, "synthesis_interval_seconds": 1e6}).Not = "mcp"
	add("research", "an unknown persona", "persona", badInput{"question": question, "persona": "nemo"}).Not = "mcp"
	add("research", "a negative number of rounds", "rounds", badInput{"question": question, "rounds": -1}).Not = "mcp"

	add("open", "an unknown provider", "model_id", badInput{"model_id": "none/none"})
	add("open", "long guidance", "system", badInput{"system": longText(app.MaxSystem)}).Not = "http"
	add("say", "no message", "content", badInput{"id": aConversation, "content": ""})
	add("say", "a blank message", "content", badInput{"id": aConversation, "content": " \n\t"})
	add("say", "a message of control characters", "content", badInput{"id": aConversation, "content": "\x1b[31m\u202e"})
	add("say", "a message that is not UTF-8", "content", badInput{"id": aConversation, "content": "salt \xff"}).Not = "http mcp"
	add("say", "an unknown provider", "model_id", badInput{"id": aConversation, "content": "Hello", "model_id": "none/none"})
	missing("say", "thread_id", badInput{"id": noThread, "content": "Hello"}).Not = "app mcp"

	add("steer", "no order", "order", badInput{"content": question}).Not = "cli mcp"
	add("steer", "an unknown order", "order", badInput{"order": "dance"}).Not = "cli"
	for _, order := range []string{"add_question", "correct", "tell"} {
		text := func(name, content, not string) {
			in := badInput{"order": order, "content": content}
			add("steer", order+" of "+name, "content", in).Not = not + map[string]string{"correct": " mcp", "tell": " cli http"}[order]
		}
		text("nothing", "", "")
		text("blanks", " \t\n ", "")
		text("control characters", "\x1b[31m\u202e\u2066", "")
		text("punctuation", "?!", "")
		text("dashes", "— – …", "")
		text("bytes that are not UTF-8", "salt \xff\xfe", "http mcp")
		text("too much text", longText(steering.MaxText), "")
	}
	only := func(field, name, not string, in badInput) { add("steer", name, field, in).Not = not + " mcp" }
	only("priority", "a priority above the range", "", badInput{"order": "add_question", "content": question, "priority": 11})
	only("priority", "a priority below the range", "", badInput{"order": "add_question", "content": question, "priority": -1})
	only("priority", "a fact with a priority", "cli", badInput{"order": "correct", "content": question, "priority": 3})
	only("question", "a drop of no question", "", badInput{"order": "drop_question", "question": ""})
	only("question", "a drop of a question that is not UTF-8", "http", badInput{"order": "drop_question", "question": "salt \xff"})
	only("source", "a drop with a source", "cli", badInput{"order": "drop_question", "question": "q1", "source": "a.md"})
	only("question", "a drop of an unknown id", "", badInput{"order": "drop_question", "question": "q99"})
	only("question", "a drop of an unknown text", "", badInput{"order": "drop_question", "question": "How old?"})
	only("question", "a rank of no question", "", badInput{"order": "rank_question", "question": "", "priority": 3})
	only("priority", "a rank without a priority", "cli", badInput{"order": "rank_question", "question": "q1"})
	only("priority", "a rank above the range", "", badInput{"order": "rank_question", "question": "q1", "priority": 11})
	only("question", "a rank of an unknown id", "", badInput{"order": "rank_question", "question": "q99", "priority": 3})
	for _, order := range []string{"pin_source", "ban_source"} {
		only("source", order+" of nothing", "", badInput{"order": order, "source": ""})
		only("source", order+" of blanks", "", badInput{"order": order, "source": " \n"})
		only("source", order+" of a long name", "", badInput{"order": order, "source": longText(steering.MaxSource)})
		only("source", order+" of a name that is not UTF-8", "http", badInput{"order": order, "source": "salt \xff"})
	}
	only("order", "no limit", "cli", badInput{"order": "budget"})
	for field, values := range map[string][2]any{
		"duration_minutes": {0.5 / 60, 1500.0}, "max_tokens": {-1, steering.MaxTokens + 1}, "max_calls": {-3, steering.MaxCalls + 1}, "max_cost_usd": {-1.0, 2e6},
	} {
		for _, v := range values {
			only(field, fmt.Sprintf("%s of %v", field, v), "", badInput{"order": "budget", field: v})
		}
	}
	only("max_calls", "a limit that is not for the order", "cli", badInput{"order": "answer_now", "max_calls": 5})
	only("content", "an answer now with a text", "cli", badInput{"order": "answer_now", "content": question})
	only("max_tokens", "more of no limit", "app http", badInput{"order": "budget", "max_tokens": "+1000"})
	only("persona", "a persona without a name", "app http", badInput{"order": "persona", "persona": ""})
	for i := range rows {
		if rows[i].Use == "steer" {
			rows[i].In["id"] = pausedSession
		}
	}
	missing("steer", "session_id", badInput{"id": noThread, "order": "add_question", "content": question}).Not = "app"

	add("fork", "an event that is not there", "at", badInput{"id": pausedSession, "at": 99_999})
	add("fork", "a negative event", "at", badInput{"id": pausedSession, "at": -1})
	add("fork", "an unknown provider", "model_id", badInput{"id": pausedSession, "model_id": "none/none"})
	missing("fork", "session_id", badInput{"id": noThread})
	add("resume", "an unknown provider", "model_id", badInput{"id": pausedSession, "model_id": "none/none"})
	missing("resume", "session_id", badInput{"id": noThread})
	add("resume", "a session that has ended", "", badInput{"id": endedSession}).Code = app.Conflict
	missing("pause", "session_id", badInput{"id": noThread})
	add("pause", "a session that has ended", "", badInput{"id": endedSession}).Code = app.Conflict
	missing("remove", "thread_id", badInput{"id": noThread})
	add("report", "an unknown format", "format", badInput{"id": endedSession, "format": "docx"})
	missing("report", "session_id", badInput{"id": noThread, "format": "json"})
	missing("export", "thread_id", badInput{"id": noThread})

	add("remember", "no text", "text", badInput{"text": ""})
	add("remember", "a blank text", "text", badInput{"text": " \n\t"})
	add("remember", "a text of control characters", "text", badInput{"text": "\x1b[31m\u202e"})
	add("remember", "an unknown kind", "kind", badInput{"text": "The sea is salt.", "kind": "poem"}).Not = "mcp"
	add("recall", "no query", "q", badInput{"q": ""})
	add("recall", "a blank query", "q", badInput{"q": "  "})
	add("recall", "a negative number", "limit", badInput{"q": "sea", "limit": -1})
	add("recall", "too many", "limit", badInput{"q": "sea", "limit": 101})
	add("recall", "an unknown kind", "kind", badInput{"q": "sea", "kind": "poem"}).Not = "mcp"
	add("memories", "an unknown kind", "kind", badInput{"kind": "poem"})
	add("memories", "a negative number", "limit", badInput{"limit": -1})
	missing("forget", "memory_id", badInput{"id": "mem_none"})
	add("resolve", "a short topic", "text", badInput{"text": "ab"}).Not = "app"
	add("resolve", "a long topic", "text", badInput{"text": strings.Repeat("sea salt ", 100)}).Not = "app"
	missing("resolve", "entry_id", badInput{"entry": "e99"}).Not = "app"
	add("threads", "an unknown kind", "kind", badInput{"kind": "poem"}).Not = "app"
	add("threads", "a negative number", "limit", badInput{"limit": -1}).Not = "app"
	add("usage", "an unknown sum", "by", badInput{"by": "moon"}).Not = "app"
	add("usage", "an unknown time", "since", badInput{"since": "yesteryear"}).Not = "app"

	const unknownQuestion = "evt_none"
	missing("decide", "approval_id", badInput{"id": aConversation, "approval": unknownQuestion, "decision": "approve"})
	missing("decide", "approval_id", badInput{"id": aConversation, "approval": "3F9K2M", "decision": "deny"}).Name = "an unknown code"
	missing("decide", "approval_id", badInput{"id": aConversation, "approval": strings.Repeat("A", 100), "decision": "approve"}).Name = "a long code"
	missing("decide", "thread_id", badInput{"id": noThread, "approval": unknownQuestion, "decision": "approve"}).Not = "app cli"
	add("decide", "neither approve nor deny", "decision", badInput{"id": aConversation, "approval": unknownQuestion, "decision": "yes"}).Not = "app cli"
	add("decide", "a decision in capitals", "decision", badInput{"id": aConversation, "approval": unknownQuestion, "decision": "APPROVE"}).Not = "app cli"
	add("decide", "no decision", "", badInput{"id": aConversation, "approval": unknownQuestion}).Not = "app cli"

	add("models", "an unknown role", "model", badInput{"model": "none"})
	missing("persona", "persona", badInput{"persona": "nemo"}).Not = "app"
	add("settings", "an unknown key", "key", badInput{"key": "no.such.key", "value": "1"})
	add("settings", "a wrong value", "value", badInput{"key": "budgets.for", "value": "soon"})
	missing("evidence", "thread_id", badInput{"id": noThread})
	missing("evidence", "evidence_id", badInput{"id": endedSession, "evidence_id": "e99"})
	return rows
}
