package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/compat"
)

var invalidCommands = map[string]string{
	"start": "think {question}", "research": "research {question}", "say": "ask {content} --thread={id}", "steer": "session steer {id}",
	"fork": "session fork {id}", "resume": "session resume {id}", "pause": "session pause {id}", "remove": "thread remove {id} --yes", "report": "session export {id}",
	"export": "thread export {id}", "remember": "remember --text={text}", "recall": "recall {q}", "memories": "memory list", "forget": "memory forget {id}",
	"resolve": "mind resolve {text}{entry}", "threads": "thread list", "usage": "usage", "models": "model test {model}", "persona": "persona show {persona}",
	"settings": "settings {key} {value}", "evidence": "evidence show {id} {evidence_id}",
	"decide": "{decision} {approval}",
}

var fieldFlags = map[string]string{
	"model_id": "model", "duration_minutes": "for", "max_tokens": "tokens", "max_calls": "calls", "max_cost_usd": "cost", "parallel": "parallel",
	"synthesis_interval_seconds": "synthesis-every", "persona": "persona", "rounds": "rounds", "at": "at", "format": "format", "kind": "kind", "limit": "number", "by": "by", "since": "since",
	"text": "text", "priority": "priority",
}

var fieldUnits = map[string]string{"duration_minutes": "m", "synthesis_interval_seconds": "s"}

func askCLI(t *testing.T, db, use string, in badInput) (refusal, bool) {
	t.Helper()
	line, ok := invalidCommands[use]
	if !ok {
		return refusal{}, false
	}
	rest := maps.Clone(in)
	if use == "decide" {
		delete(rest, "id")
	}
	var words []string
	for _, word := range strings.Fields(line) {
		had := false
		for field := range in {
			if strings.Contains(word, "{"+field+"}") {
				word, had = strings.ReplaceAll(word, "{"+field+"}", fmt.Sprint(in[field])), true
				delete(rest, field)
			}
		}
		if had || !strings.Contains(word, "{") {
			words = append(words, strings.ReplaceAll(strings.ReplaceAll(word, "{text}", ""), "{entry}", ""))
		}
	}
	if order := inputString(in, "order"); order != "" { // this flag takes the text
		field := map[string]string{"add_question": "content", "correct": "content", "drop_question": "question", "rank_question": "question", "persona": "persona"}[order]
		if strings.HasSuffix(order, "_source") {
			field = "source"
		}
		if flag := steerFlagOf[ponder.SteerOp(order)]; field != "" {
			words = append(words, "--"+flag+"="+inputString(in, field))
		}
		if order == "rank_question" {
			words[len(words)-1] += "=" + fmt.Sprint(in["priority"])
			delete(rest, "priority")
		}
		delete(rest, "order")
		delete(rest, field)
	}
	for _, field := range slices.Sorted(maps.Keys(rest)) {
		flag := fieldFlags[field]
		if use == "threads" && field == "limit" {
			flag = "limit"
		}
		words = append(words, "--"+flag+"="+fmt.Sprint(rest[field])+fieldUnits[field])
	}
	a := newCLI(app.Options{DB: db, Version: "test"})
	a.in, a.out, a.log, a.interrupts = strings.NewReader(""), io.Discard, &logSink{out: io.Discard}, &interruptHandler{}
	defer a.Close()
	root := newRoot(a)
	root.SetArgs(append([]string{"--db=" + db}, words...))
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	err := root.ExecuteContext(t.Context())
	slog.SetDefault(slog.New(slog.DiscardHandler))
	if err == nil {
		return refusal{}, true
	}
	r := newRefusal(err)
	code, text := explainError(err, a)
	if r.text = text; code != max(exitCodes[r.code], exitFailed) && r.code != app.Conflict {
		t.Errorf("exit code %d of %s: %s", code, r.code, text)
	}
	if r.field == "" {
		r.field = lineField(text, in)
	}
	return r, true
}

func lineField(line string, in badInput) string {
	flag, _, _ := strings.Cut(strings.TrimPrefix(line, "invalid argument for "), ":")
	flag, _, _ = strings.Cut(strings.TrimLeft(flag, "-"), "=")
	flag, _, _ = strings.Cut(flag, " ")
	if flag == "n" {
		flag = "number"
	}
	if flag == "rank" { // it sets two fields
		if strings.Contains(line, "no priority") {
			return "priority"
		}
		return "question"
	}
	for field := range in {
		if fieldFlags[field] == flag || field == flag || steerFlagOf[ponder.SteerOp(inputString(in, "order"))] == flag && field != "id" && field != "order" {
			return field
		}
	}
	return ""
}

var useRoutes = map[string]string{
	"start": "POST /api/thinking/start", "open": "POST /api/threads", "say": "POST /api/threads/{id}/messages", "steer": "POST /api/thinking/{id}/steer",
	"fork": "POST /api/thinking/{id}/fork", "resume": "POST /api/thinking/{id}/resume", "pause": "POST /api/thinking/{id}/pause", "remove": "DELETE /api/threads/{id}",
	"report": "GET /api/thinking/{id}/export", "export": "GET /api/threads/{id}/export", "remember": "POST /api/memory", "recall": "GET /api/memory/search",
	"memories": "GET /api/memory", "forget": "DELETE /api/memory/{id}", "resolve": "POST /api/mind/resolve", "threads": "GET /api/threads", "usage": "GET /api/usage",
	"decide": "POST /api/threads/{id}/approvals/{approval}",
}

// askHTTP sends a request. It checks that a list of commands and a fork refuse commands alike.
func askHTTP(t *testing.T, address, use string, in badInput) (refusal, bool) {
	t.Helper()
	r, offered := sendHTTP(t, address, use, in)
	if use == "steer" && r.code == app.Invalid {
		command := maps.Clone(in)
		delete(command, "id")
		for _, use := range []string{"steer", "fork"} {
			listed, _ := sendHTTP(t, address, use, badInput{"id": in["id"], "wishes": []badInput{command}})
			if listed.code != r.code || listed.field != r.field || flagName.MatchString(listed.text) {
				t.Errorf("http: a list for %s: code %s of %q: %s", use, listed.code, listed.field, listed.text)
			}
		}
	}
	return r, offered
}

func sendHTTP(t *testing.T, address, use string, in badInput) (refusal, bool) {
	t.Helper()
	route, ok := useRoutes[use]
	if !ok {
		return refusal{}, false
	}
	method, path, _ := strings.Cut(route, " ")
	body := maps.Clone(in)
	delete(body, "id")
	delete(body, "approval")
	if model, ok := body["model_id"]; ok && (use == "open" || use == "say") {
		delete(body, "model_id")
		body["model"] = model
	}
	js, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	path = strings.ReplaceAll(path, "{id}", inputString(in, "id"))
	path = strings.ReplaceAll(path, "{approval}", inputString(in, "approval"))
	if method == http.MethodGet {
		query := url.Values{}
		for field, v := range body {
			query.Set(field, fmt.Sprint(v))
		}
		path, js = path+"?"+query.Encode(), nil
	}
	req, err := http.NewRequestWithContext(t.Context(), method, address+path, bytes.NewReader(js))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode < 300 {
		return refusal{}, true
	}
	r := refusal{code: app.Internal, text: string(text)}
	for _, code := range []app.Code{app.Invalid, app.NotFound, app.Conflict, app.NotReady, app.OverBudget} {
		if compat.StatusOf(code) == resp.StatusCode {
			r.code = code
		}
	}
	var doc struct{ Errors []struct{ Location string } }
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Errorf("%s: %v", text, err)
	}
	for _, e := range doc.Errors {
		if at := strings.LastIndexByte(e.Location, '.'); at > 0 && len(e.Location)-at > len(r.field) {
			r.field, _, _ = strings.Cut(e.Location[at+1:], "[")
		}
	}
	if r.field == "model" {
		r.field = "model_id"
	}
	return r, true
}

var useTools = map[string]struct {
	name string
	args map[string]any
}{
	"start": {"ponder_deep_think", nil}, "research": {"ponder_research", nil}, "say": {"ponder_chat", nil}, "steer": {"ponder_steer", nil},
	"resume": {"ponder_session", map[string]any{"action": "resume"}}, "pause": {"ponder_session", map[string]any{"action": "pause"}},
	"report": {"ponder_session", map[string]any{"action": "export"}}, "remember": {"ponder_remember", nil}, "recall": {"ponder_recall", nil},
}

var toolArgs = map[string]string{"model_id": "model", "duration_minutes": "minutes", "q": "query", "id": "session", "order": "action"}

func askMCP(t *testing.T, client *sdk.ClientSession, use string, in badInput) (refusal, bool) {
	t.Helper()
	tool, ok := useTools[use]
	if !ok || use == "resume" && in["model_id"] != nil {
		return refusal{}, false
	}
	args, back := maps.Clone(tool.args), make(map[string]string)
	if args == nil {
		args = make(map[string]any)
	}
	for field, v := range in {
		arg := field
		if toolArgs[field] != "" {
			arg = toolArgs[field]
		}
		if field == "content" {
			arg = map[string]string{"say": "question", "steer": "text"}[use]
		}
		if use == "say" && field == "id" {
			continue
		}
		args[arg], back[arg] = v, field
	}
	result, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: tool.name, Arguments: args})
	if err != nil {
		return refusal{text: err.Error()}, true
	}
	if !result.IsError {
		return refusal{}, true
	}
	text := ""
	for _, c := range result.Content {
		if c, ok := c.(*sdk.TextContent); ok {
			text += c.Text
		}
	}
	arg, _, _ := strings.Cut(text, ":")
	return refusal{field: back[arg], text: text}, true
}
