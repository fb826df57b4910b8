package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"ponder/llm/llmtest"
)

type dialogue struct {
	*serveProcess
	chat    string   // client's ID
	id      string   // server's ID, if the client needs it
	history []string // alternating messages and answers
}

type protocol struct {
	name    string
	streams bool // streams text
	request func(t *dialogue, stream bool) (path string, body any)
}

type object = map[string]any

// protocols are the protocols, the native API first.
var protocols = []protocol{
	{"native", true, nativeTurn},
	{"openai", true, func(t *dialogue, stream bool) (string, any) {
		return "/v1/chat/completions", object{"model": "ponder/chat", "stream": stream, "messages": t.chatMessages()}
	}},
	{"responses", true, func(t *dialogue, stream bool) (string, any) {
		body := object{"model": "ponder/chat", "stream": stream, "input": t.history[len(t.history)-1]}
		if t.id != "" {
			body["previous_response_id"] = t.id
		}
		return "/v1/responses", body
	}},
	{"ollama", true, func(t *dialogue, stream bool) (string, any) {
		return "/api/chat", object{"model": "ponder/chat", "stream": stream, "messages": t.chatMessages()}
	}},
	{"anthropic", true, func(t *dialogue, stream bool) (string, any) {
		return "/v1/messages", object{"model": "ponder/chat", "stream": stream, "max_tokens": 4000, "messages": t.chatMessages()}
	}},
	{"aisdk", true, func(t *dialogue, _ bool) (string, any) { // always streams
		var list []object
		for _, m := range t.chatMessages() {
			list = append(list, object{"role": m["role"], "parts": []object{{"type": "text", "text": m["content"]}}})
		}
		return "/ai/chat", object{"id": t.chat, "messages": list}
	}},
	{"mcp", false, func(t *dialogue, _ bool) (string, any) {
		return "/mcp", object{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": object{
			"name": mcpTool, "arguments": object{"question": t.history[len(t.history)-1], "conversation": t.chat},
			"_meta": object{"io.modelcontextprotocol/protocolVersion": mcpVersion, "io.modelcontextprotocol/clientCapabilities": object{}},
		}}
	}},
}

const (
	mcpVersion = "2026-07-28"
	mcpTool    = "ponder_chat"
)

func nativeTurn(t *dialogue, stream bool) (string, any) {
	if t.id == "" {
		return "/api/threads", object{"title": t.history[0]}
	}
	path := "/api/threads/" + t.id + "/messages"
	if !stream {
		path += "?wait=20s"
	}
	return path, object{"content": t.history[len(t.history)-1]}
}

// chatMessages returns the history in the format of most protocols.
func (t *dialogue) chatMessages() (list []object) {
	for i, text := range t.history {
		role := "user"
		if i%2 == 1 {
			role = "assistant"
		}
		list = append(list, object{"role": role, "content": text})
	}
	return list
}

type turnResult struct {
	took   time.Duration
	cpu    time.Duration // of the server, including work after the response
	events int           // in a stream
}

// runTurn requests an answer to the last message and lets the server rest.
func (t *dialogue) runTurn(ctx context.Context, of protocol, stream bool) (h turnResult, err error) {
	before := t.cpuTime()
	if of.name == protocols[0].name && t.id == "" {
		if h, err = t.sendTurn(ctx, of, false); err != nil {
			return h, err
		}
	}
	more, err := t.sendTurn(ctx, of, stream)
	if stream {
		time.Sleep(pauseStream)
	} else {
		time.Sleep(pauseWhole)
	}
	return turnResult{h.took + more.took, t.cpuTime() - before, more.events}, err
}

// Patterns of IDs that a client must send again.
var ids = regexp.MustCompile(`"(?:thread_id|id)":"((?:thr|resp)_[^"]+)"`)

func (t *dialogue) sendTurn(ctx context.Context, of protocol, stream bool) (h turnResult, err error) {
	path, body := of.request(t, stream)
	js, err := json.Marshal(body)
	if err != nil {
		return h, err
	}
	accept := "application/json"
	if stream || of.name == "mcp" {
		accept += ", text/event-stream"
	}
	if stream && of.name == protocols[0].name {
		accept = "text/event-stream"
	}
	req, err := newRequest(ctx, t.serveProcess, http.MethodPost, path, string(js), accept)
	if err != nil {
		return h, err
	}
	if of.name == "mcp" {
		for name, value := range map[string]string{"Mcp-Protocol-Version": mcpVersion, "Mcp-Method": "tools/call", "Mcp-Name": mcpTool} {
			req.Header.Set(name, value)
		}
	}
	began := time.Now()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return h, err
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	lines := bufio.NewReader(resp.Body)
	for err == nil {
		var line []byte
		line, err = lines.ReadBytes('\n')
		text.Write(line)
		if of.name == "ollama" && len(line) > 0 || bytes.HasPrefix(line, []byte("data:")) {
			h.events++
		}
	}
	h.took = time.Since(began)
	if resp.StatusCode >= http.StatusMultipleChoices || strings.Contains(path, "/messages") && !bytes.Contains(text.Bytes(), []byte("next")) {
		return h, errors.New(fmt.Sprint(resp.Status, " ", text.String()))
	}
	if found := ids.FindSubmatch(text.Bytes()); found != nil && (t.id == "" || strings.HasPrefix(t.id, "resp_")) {
		t.id = string(found[1])
	}
	return h, nil
}

const shortAnswer = "It is the next one."

var longAnswer = strings.Repeat("And then comes the next one of them, as they all do. ", 42) + "That is all."

func expectedAnswer(stream bool) string {
	if stream {
		return longAnswer
	}
	return shortAnswer
}

// languageSim returns a model with one fixed answer in pieces.
func languageSim(text string, between time.Duration) llmtest.SimConfig {
	reply, err := json.Marshal(text)
	if err != nil { // a text always encodes
		panic(err)
	}
	return llmtest.SimConfig{Seed: 1, Token: llmtest.Delay{Mean: between}, Script: llmtest.Script{{Reply: reply}}}
}
