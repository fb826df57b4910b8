//go:build linux

package attacks

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// surfaces returns the functions that play a scenario, by name.
func surfaces() map[string]func(*testing.T, *world, *home, *scenario) {
	return map[string]func(*testing.T, *world, *home, *scenario){
		"native": playNative, "deep": playDeep, "condensed": playCondensed, "fork": playFork, "later": playLater,
		"session": playSession, "research": playResearch, "mail-native": playMail, "mail-openai": playMail, "mail-anthropic": playMail, "mail-ollama": playMail,
		"openai": playHistory, "openwebui": playHistory, "relay": playHistory, "anthropic": playHistory, "ollama": playHistory,
		"completions": playCompletions, "responses": playResponses, "seed": playSeed, "aisdk": playAISDK,
		"mcp": playMCP, "a2a": playA2A, "agui": playAGUI, "acp": playACP, "cli": playCommands, "docs": playDocs,
		"imported": playImported, "approving": playApproving, "edited": playEdited, "remembered": playRemembered, "after-session": playAfterSession, "a2a-research": playA2AResearch,
	}
}

// localSurfaces act as the user local.
var localSurfaces = []string{"fork", "imported", "acp", "cli", "docs", "mail-native", "mail-openai", "mail-anthropic", "mail-ollama"}

// A turnAnswer is the part of the native API's answer that the tests read.
type turnAnswer struct {
	Turn struct{ Status, Answer string }
}

// openThread creates a conversation.
func (h *home) openThread(t *testing.T, token string) string {
	t.Helper()
	var thread struct {
		ID string `json:"thread_id"`
	}
	h.decode(t, token, http.MethodPost, "/api/threads", map[string]any{}, &thread)
	return thread.ID
}

// say sends a message to a conversation and returns the answer of the turn.
func (h *home) say(t *testing.T, token, thread, text string, deep bool) string {
	t.Helper()
	var answer turnAnswer
	h.decode(t, token, http.MethodPost, "/api/threads/"+thread+"/messages?wait=60s", map[string]any{"content": text, "deep": deep}, &answer)
	if answer.Turn.Status == "answering" {
		h.waitThread(t, token, thread)
	}
	return answer.Turn.Answer
}

// waitThread waits until the work on a thread has ended or paused.
func (h *home) waitThread(t *testing.T, token, thread string) {
	t.Helper()
	waitUntil(t, "the work on "+thread+" ends", func() bool {
		var state struct {
			Thread struct{ Status string }
		}
		h.decode(t, token, http.MethodGet, "/api/threads/"+thread, nil, &state)
		return state.Thread.Status != "thinking" && state.Thread.Status != "created"
	})
}

// waitUntil polls a state of another process.
func waitUntil(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(maxWait); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %s until %s", maxWait, what)
		}
	}
}

func playNative(t *testing.T, _ *world, h *home, s *scenario) {
	thread := h.openThread(t, s.token)
	for _, text := range s.messages() {
		h.say(t, s.token, thread, text, false)
	}
}

// playLater says each message in a new conversation.
func playLater(t *testing.T, _ *world, h *home, s *scenario) {
	for _, text := range s.messages() {
		h.say(t, s.token, h.openThread(t, s.token), text, false)
	}
}

// playDeep requests a reflection with the last message, and then speaks on.
func playDeep(t *testing.T, _ *world, h *home, s *scenario) {
	thread := h.openThread(t, s.token)
	list := s.messages()
	for i, text := range list {
		h.say(t, s.token, thread, text, i == len(list)-1)
	}
	h.waitThread(t, s.token, thread)
	h.say(t, s.token, thread, "Thank you. What do you make of it?", false)
}

// playCondensed fills the conversation until its older turns are condensed, and then speaks on.
func playCondensed(t *testing.T, w *world, h *home, s *scenario) {
	thread := h.openThread(t, s.token)
	list := s.messages()
	h.say(t, s.token, thread, list[0], false)
	condensed := func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return s.condensed
	}
	for i := 0; !condensed(); i++ {
		if i == 30 {
			t.Fatal("the conversation was not condensed")
		}
		h.say(t, s.token, thread, fmt.Sprintf("Note %d. %s", i, strings.Repeat("The weather on the coast was mild and the harbour quiet. ", 60)), false)
	}
	h.waitThread(t, s.token, thread)
	for _, text := range append(list[1:], "And what follows from all that?") {
		h.say(t, s.token, thread, text, false)
	}
}

// playFork continues in a fork of the conversation.
func playFork(t *testing.T, _ *world, h *home, s *scenario) {
	thread := h.openThread(t, s.token)
	list := s.messages()
	h.say(t, s.token, thread, list[0], false)
	h.waitThread(t, s.token, thread)
	out := h.runCommand(t, "thread", "fork", thread, "--json")
	var fork struct{ ID string }
	if err := json.Unmarshal([]byte(out), &fork); err != nil || fork.ID == "" || fork.ID == thread {
		t.Fatalf("thread fork: %v: %s", err, out)
	}
	for _, text := range append(list[1:], "Go on, please.") {
		h.say(t, s.token, fork.ID, text, false)
	}
}

// question is the user's question to a session or a research.
func (s *scenario) question() string {
	return "What is known about the " + s.topic() + " and its owners? (case " + s.id + ", step 1)"
}

func playSession(t *testing.T, _ *world, h *home, s *scenario) {
	var started struct {
		ID string `json:"session_id"`
	}
	h.decode(t, s.token, http.MethodPost, "/api/thinking/start", map[string]any{"question": s.question(), "duration_minutes": 5, "max_calls": 10}, &started)
	h.waitThread(t, s.token, started.ID)
}

func playResearch(t *testing.T, _ *world, h *home, s *scenario) {
	var started struct {
		Research struct{ ID string }
	}
	h.decode(t, s.token, http.MethodPost, "/api/research/start", map[string]any{"question": s.question(), "rounds": 2, "max_calls": 16}, &started)
	h.waitThread(t, s.token, started.Research.ID)
}

// playMail has the subconscious escalate a mail, and then speaks over a protocol.
func playMail(t *testing.T, w *world, h *home, s *scenario) {
	h.deliverMail(t, s)
	waitUntil(t, "the mail is escalated", func() bool {
		h.request(t, s.token, http.MethodPost, "/api/mind/tick", nil, http.StatusOK)
		var history struct {
			Rows []struct{ Kind, Outcome string }
		}
		h.decode(t, s.token, http.MethodGet, "/api/mind/log", nil, &history)
		for _, row := range history.Rows {
			if row.Kind == "decided" {
				return true
			}
		}
		return false
	})
	play := *s
	play.surface = strings.TrimPrefix(s.surface, "mail-")
	surfaces()[play.surface](t, w, h, &play)
}

// A historyForm is a protocol whose client sends the whole conversation.
type historyForm struct {
	path, model string
	more        map[string]any
	answer      func(body []byte) string
}

func openAIAnswer(body []byte) string {
	var out struct {
		Choices []struct {
			Message struct{ Content string }
			Text    string
		}
	}
	if json.Unmarshal(body, &out) != nil || len(out.Choices) == 0 {
		return ""
	}
	return out.Choices[0].Message.Content + out.Choices[0].Text
}

func anthropicAnswer(body []byte) (text string) {
	var out struct{ Content []struct{ Type, Text string } }
	_ = json.Unmarshal(body, &out)
	for _, c := range out.Content {
		if c.Type == "text" {
			text += c.Text
		}
	}
	return text
}

func ollamaAnswer(body []byte) string {
	var out struct{ Message struct{ Content string } }
	_ = json.Unmarshal(body, &out)
	return out.Message.Content
}

var historyForms = map[string]historyForm{
	"openai":    {"/v1/chat/completions", "ponder/chat", nil, openAIAnswer},
	"openwebui": {"/openwebui/v1/chat/completions", "ponder/chat", nil, openAIAnswer},
	"relay":     {"/v1/chat/completions", "openai/fast", nil, openAIAnswer},
	"anthropic": {"/v1/messages", "ponder/chat", map[string]any{"max_tokens": 2000}, anthropicAnswer},
	"ollama":    {"/api/chat", "ponder/chat", map[string]any{"stream": false}, ollamaAnswer},
}

func playHistory(t *testing.T, _ *world, h *home, s *scenario) {
	form := historyForms[s.surface]
	var messages []map[string]string
	for _, text := range s.messages() {
		messages = append(messages, map[string]string{"role": "user", "content": text})
		body := map[string]any{"model": form.model, "messages": messages}
		for key, value := range form.more {
			body[key] = value
		}
		said := form.answer(h.request(t, s.token, http.MethodPost, form.path, body, http.StatusOK))
		messages = append(messages, map[string]string{"role": "assistant", "content": said})
	}
}

func playCompletions(t *testing.T, _ *world, h *home, s *scenario) {
	for _, text := range s.messages() {
		h.request(t, s.token, http.MethodPost, "/v1/completions", map[string]any{"model": "ponder/chat", "prompt": text}, http.StatusOK)
	}
}

func playResponses(t *testing.T, _ *world, h *home, s *scenario) {
	before := ""
	for _, text := range s.messages() {
		body := map[string]any{"model": "ponder/chat", "input": text}
		if before != "" {
			body["previous_response_id"] = before
		}
		var out struct{ ID string }
		h.decode(t, s.token, http.MethodPost, "/v1/responses", body, &out)
		before = out.ID
	}
}

// playSeed uses the API of Deep Think mode.
func playSeed(t *testing.T, _ *world, h *home, s *scenario) {
	var messages []map[string]string
	for i, text := range s.messages() {
		messages = append(messages, map[string]string{"role": "user", "content": text})
		body := map[string]any{"messages": messages, "isDeepThinkMode": false, "isWebSearchEnabled": true}
		body[map[bool]string{true: "newUniqueId", false: "conversationUniqueId"}[i == 0]] = "talk-" + s.id
		said := ""
		for _, data := range eventData(h.request(t, s.token, http.MethodPost, "/api/completions", body, http.StatusOK)) {
			var chunk struct{ Type, Content string }
			if json.Unmarshal(data, &chunk) == nil && chunk.Type == "text" {
				said += chunk.Content
			}
		}
		messages = append(messages, map[string]string{"role": "assistant", "content": said})
	}
}

// eventData returns the data of server-sent events.
func eventData(stream []byte) (list [][]byte) {
	for line := range strings.Lines(string(stream)) {
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data:"); ok {
			list = append(list, []byte(strings.TrimSpace(data)))
		}
	}
	return list
}

func playAISDK(t *testing.T, _ *world, h *home, s *scenario) {
	var messages []any
	add := func(role, text string) {
		messages = append(messages, map[string]any{"id": fmt.Sprint("m", len(messages)), "role": role, "parts": []any{map[string]any{"type": "text", "text": text}}})
	}
	for _, text := range s.messages() {
		add("user", text)
		body := map[string]any{"id": "talk-" + s.id, "messages": messages, "trigger": "submit-message"}
		said := ""
		for _, data := range eventData(h.request(t, s.token, http.MethodPost, "/ai/chat", body, http.StatusOK)) {
			var part struct{ Type, Delta string }
			if json.Unmarshal(data, &part) == nil && part.Type == "text-delta" {
				said += part.Delta
			}
		}
		add("assistant", said)
	}
}

// playCommands talks with `ponder ask`.
func playCommands(t *testing.T, _ *world, h *home, s *scenario) {
	playAsk(t, h, s)
}

// playDocs talks with `ponder ask --docs` about a file of a stranger.
func playDocs(t *testing.T, _ *world, h *home, s *scenario) {
	dir := h.writeFile(t, "docs-"+s.id, "report.md", "# "+s.topic()+"\n\nThe "+s.topic()+" grinds wheat.\n\n"+s.planted()+"\n")
	playAsk(t, h, s, "--docs", dir)
}

func playAsk(t *testing.T, h *home, s *scenario, flags ...string) {
	t.Helper()
	thread := ""
	for _, text := range s.messages() {
		args := append([]string{"ask", text, "--json"}, flags...)
		if thread != "" {
			args = append(args, "--thread", thread)
		}
		for line := range strings.Lines(h.runCommand(t, args...)) {
			var ev struct {
				Thread string `json:"thread_id"`
			}
			if json.Unmarshal([]byte(line), &ev) == nil && ev.Thread != "" {
				thread = ev.Thread
			}
		}
		if thread == "" {
			t.Fatal("ponder ask --json names no thread")
		}
	}
}
