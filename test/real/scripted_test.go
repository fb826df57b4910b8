package real

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// tokenTime is the time for a token of an endless answer.
	tokenTime = 4 * time.Millisecond

	// maxEndless is the number of tokens until which an endless answer must be cut: half of a usual
	// max_tokens, which leaves a slow machine 8 seconds.
	maxEndless = 2000
)

// A chatRequest is the part of a request that scripts read.
type chatRequest struct {
	MaxTokens int `json:"max_tokens"`
	Messages  []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"messages"`
	Format *struct {
		Schema struct {
			Name string `json:"name"`
		} `json:"json_schema"`
	} `json:"response_format"`
	Tools []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`

	n int // number of the request, from 1
}

// tokens estimates the prompt.
func (r chatRequest) tokens() (n int) {
	for _, m := range r.Messages {
		n += len(m.Content)/4 + 4
	}
	return n
}

// kind returns the kind of the requested answer: thoughts, questions, synthesis, answer, plan, or
// text.
func (r chatRequest) kind() string {
	if r.Format == nil {
		return "text"
	}
	return r.Format.Schema.Name
}

// A reply is a scripted answer.
type reply struct {
	text   string
	then   string // follows without end, in pieces, until max_tokens or until the client leaves
	finish string // stop if empty
	refuse string // an error 400 with this body
}

// A scriptServer is a server that answers by a script. It is safe for concurrent use.
type scriptServer struct {
	*server
	mu       sync.Mutex
	requests []chatRequest
	endless  []int // tokens of each endless answer, after its text
	refused  int
}

// startScript starts a server for the duration of the test.
func startScript(t *testing.T, script func(chatRequest) reply) *scriptServer {
	t.Helper()
	s := &scriptServer{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"object":"list","data":[{"id":"scripted","object":"model","owned_by":"vllm"}]}`)
	})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, req *http.Request) {
		var r chatRequest
		if err := json.NewDecoder(req.Body).Decode(&r); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		s.requests = append(s.requests, r)
		r.n = len(s.requests)
		s.mu.Unlock()
		s.send(w, req, r, script(r))
	})
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	s.server = &server{url: web.URL + "/v1", model: "scripted"}
	return s
}

func (s *scriptServer) send(w http.ResponseWriter, req *http.Request, r chatRequest, say reply) {
	if say.refuse != "" {
		s.mu.Lock()
		s.refused++
		s.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, say.refuse)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	frame := func(choice string) {
		fmt.Fprintf(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"scripted","choices":[%s]`+"}\n\n", choice)
		w.(http.Flusher).Flush()
	}
	piece := func(text string) {
		frame(fmt.Sprintf(`{"index":0,"delta":{"content":%s},"finish_reason":null}`, encode(text)))
	}
	piece(say.text)
	sent := len(say.text) / 4
	if say.then != "" {
		began, step := sent, max(1, len(say.then)/4)
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.endless = append(s.endless, sent-began)
		}()
		for ; r.MaxTokens == 0 || sent < r.MaxTokens; sent += step {
			select {
			case <-req.Context().Done():
				return
			case <-time.After(time.Duration(step) * tokenTime):
			}
			piece(say.then)
		}
		say.finish = "length"
	}
	if say.finish == "" {
		say.finish = "stop"
	}
	frame(fmt.Sprintf(`{"index":0,"delta":{},"finish_reason":%q}`, say.finish))
	fmt.Fprintf(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"scripted","choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}`+"\n\n", r.tokens(), sent, r.tokens()+sent)
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// thoughtTexts are distinct in meaning, so that none counts as a repeat.
var thoughtTexts = []string{
	"Estimates leave out the work that is still unknown at the start.",
	"Customers add requirements while the first ones are being built.",
	"Teams wait for each other when a design has many dependencies.",
	"Testing begins late, so that defects appear shortly before the release.",
	"Experienced engineers leave, and new ones need months to become productive.",
	"Managers report progress by finished tasks instead of by working functions.",
	"Old code resists changes that looked small in the plan.",
	"A fixed date without a fixed scope moves the delay into quality.",
	"Meetings fragment the day of a programmer into useless pieces.",
	"Optimism hides risks because bad news is punished.",
}

// sound returns a good answer of the requested kind, as JSON.
func sound(r chatRequest) string {
	text := func(i int) string { return thoughtTexts[(r.n*3+i)%len(thoughtTexts)] }
	var v any
	switch r.kind() {
	case "thoughts":
		v = thoughtsAnswer{Thoughts: []scriptedThought{newThought(text(0), "exploration"), newThought(text(1), "critique"), newThought(text(2), "insight")}}
	case "questions":
		v = map[string]any{"questions": []any{map[string]any{"question": "How much does late testing cost?", "priority": 5, "why": "It may be the largest cause.", "parent": ""}}, "ranked": []any{}}
	case "synthesis":
		v = map[string]any{"synthesis": "Projects are late because " + text(0) + " Besides: " + text(1), "insights": []string{text(2)}, "confidence": 0.6, "remaining": []string{}}
	case "answer":
		v = map[string]any{"answer": finalText, "insights": []string{text(0)}, "confidence": 0.7, "remaining": []string{}}
	default:
		return finalText
	}
	return encode(v)
}

type (
	thoughtsAnswer struct {
		Thoughts  []scriptedThought `json:"thoughts"`
		Questions []string          `json:"questions"`
		Settled   bool              `json:"settled"`
	}
	scriptedThought struct {
		Thought    string   `json:"thought"`
		Type       string   `json:"type"`
		Confidence float64  `json:"confidence"`
		Importance float64  `json:"importance"`
		Cites      []string `json:"cites"`
	}
)

func newThought(text, kind string) scriptedThought {
	return scriptedThought{Thought: text, Type: kind, Confidence: 0.6, Importance: 0.5, Cites: []string{}}
}

func encode(v any) string {
	js, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(js)
}

const finalText = "Software projects run late mainly because their estimates leave out unknown work.\n\nTwo more causes add to it: requirements grow, and testing begins too late."

// runScript runs a short session against a script, checks it, and returns its events.
func runScript(t *testing.T, script func(chatRequest) reply) (*scriptServer, []event) {
	t.Helper()
	const question = "Why do large software projects run late?"
	s := startScript(t, script)
	h := newHome(t, s.server, nil, "")
	out := h.ponder(t, "", "think", question, "--for", "30s", "--calls", "5", "--no-memory", "--no-web")
	if out.took > 30*time.Second+overtime {
		t.Errorf("--for 30s took %s", out.took)
	}
	if out.code != 0 && out.code != 3 {
		t.Errorf("exit code %d: %s", out.code, tail([]byte(out.stderr)))
	}
	events := h.events(t, "last")
	report(t, checkRun(events, question, "", promptTexts(t)))
	report(t, checkCalls(events))
	report(t, checkAnsweredByModel(events))
	return s, events
}

// checkAnsweredByModel returns problems of a run whose model gave good answers.
func checkAnsweredByModel(events []event) (problems []string) {
	thoughts, final := 0, false
	for _, e := range events {
		switch {
		case e.Data.WithoutModel && (e.Type == "thought" || e.Type == "synthesis"):
			problems = append(problems, "written without the model: "+shorten(e.Content))
		case e.Type == "thought":
			thoughts++
		case e.Type == "synthesis" && e.Data.Final:
			final = true
		}
	}
	if thoughts < 3 {
		problems = append(problems, fmt.Sprintf("%d thoughts of the model reached the session, of at least 3 in its answers", thoughts))
	}
	if !final {
		problems = append(problems, "there is no final answer")
	}
	return problems
}

// After a finished value, a grammar may allow white space without end.
func TestEndlessWhitespace(t *testing.T) {
	t.Parallel()
	for name, tail := range map[string]string{"newlines": "\n", "spaces": "  ", "a closed fence": "\n```\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := runScript(t, func(r chatRequest) reply { return reply{text: sound(r), then: tail} })
			s.checkClosed(t)
		})
	}
}

// checkClosed fails the test if the client read an endless answer for too long.
func (s *scriptServer) checkClosed(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.endless) == 0 {
		t.Error("the server sent no endless answer")
	}
	for i, n := range s.endless {
		if n > maxEndless {
			t.Errorf("endless answer %d was read for %d tokens, not closed within %d", i+1, n, maxEndless)
		}
	}
}

// A small model repeats the last member of a list, or writes new ones without end.
func TestEndlessArray(t *testing.T) {
	t.Parallel()
	member := func(i int) string { return encode(newThought(thoughtTexts[i], "insight")) + "," }
	start := `{"thoughts":[` + member(0) + member(1) + member(2)
	for name, say := range map[string]reply{
		"the same thought":  {text: start, then: member(2)},
		"empty thoughts":    {text: start, then: encode(newThought("", "insight")) + ","},
		"a list of nothing": {text: start[:len(start)-1] + `],"questions":[`, then: `"",`},
		"one long text":     {text: start + `{"thought":"The scope`, then: " grows and grows"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := runScript(t, func(r chatRequest) reply {
				if r.kind() == "thoughts" {
					return say
				}
				return reply{text: sound(r)}
			})
			s.checkClosed(t)
		})
	}
}

// A small model copies the list of kinds instead of one of them.
func TestCopiedEnum(t *testing.T) {
	t.Parallel()
	kinds := regexp.MustCompile(`^(exploration|critique|connection|insight|question|synthesis)$`)
	for name, copied := range map[string]string{
		"with commas":  "exploration, critique, connection, insight, question or synthesis",
		"with slashes": "exploration/critique/connection/insight/question/synthesis",
		"in brackets":  "[exploration|critique|connection|insight|question|synthesis]",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, events := runScript(t, func(r chatRequest) reply {
				text := sound(r)
				for _, kind := range []string{"exploration", "critique", "insight"} {
					text = strings.ReplaceAll(text, `"type":"`+kind+`"`, fmt.Sprintf(`"type":%q`, copied))
				}
				return reply{text: text}
			})
			for _, e := range events {
				if e.Type == "thought" && !kinds.MatchString(e.Data.Kind) {
					t.Errorf("kind of a thought: %q", e.Data.Kind)
				}
			}
		})
	}
}

// A small model writes words of the prompt as its answer. They are no thoughts, and the session
// keeps only the others.
func TestCopiedPrompt(t *testing.T) {
	t.Parallel()
	copied := []string{
		"the thought itself, in one to four sentences", "exploration, critique, connection, insight, question or synthesis",
		"Why do large software projects run late?", "the", "from 0.0 to 1.0, how likely it is true",
	}
	runScript(t, func(r chatRequest) reply {
		if r.kind() != "thoughts" {
			return reply{text: sound(r)}
		}
		all := thoughtsAnswer{}
		for i, text := range copied {
			all.Thoughts = append(all.Thoughts, newThought(text, "insight"), newThought(thoughtTexts[(r.n*3+i)%len(thoughtTexts)], "critique"))
		}
		return reply{text: encode(all)}
	})
}

// The final answer of a small model repeats a line. A reader sees it at most twice.
func TestRepeatedLine(t *testing.T) {
	t.Parallel()
	const line = "- Projects run late because their estimates leave out unknown work.\n"
	for name, say := range map[string]func(chatRequest) reply{
		"in JSON": func(chatRequest) reply {
			return reply{text: encode(map[string]any{"answer": finalText + "\n\n" + strings.Repeat(line, 40), "insights": []string{}, "confidence": 0.7, "remaining": []string{}})}
		},
		"as text":     func(chatRequest) reply { return reply{text: finalText + "\n\n" + strings.Repeat(line, 40)} },
		"without end": func(chatRequest) reply { return reply{text: finalText + "\n\n", then: line} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := runScript(t, func(r chatRequest) reply {
				if r.kind() == "answer" || r.kind() == "text" {
					return say(r)
				}
				return reply{text: sound(r)}
			})
			if name == "without end" {
				s.checkClosed(t)
			}
		})
	}
}

// Some servers count max_tokens into the length of a prompt and refuse the sum. A client must
// request fewer tokens instead of giving up.
func TestCountedCompletion(t *testing.T) {
	t.Parallel()
	const window = 4096
	refusals := map[string]string{ // prompt, completion, window
		"vLLM 0.8":   `{"object":"error","message":"This model's maximum context length is %[3]d tokens. However, you requested %[4]d tokens (%[1]d in the messages, %[2]d in the completion). Please reduce the length of the messages or completion.","type":"BadRequestError","param":null,"code":400}`,
		"vLLM 0.11":  `{"error":{"message":"'max_tokens' or 'max_completion_tokens' is too large: %[2]d. This model's maximum context length is %[3]d tokens and your request has %[1]d input tokens (%[2]d > %[3]d - %[1]d).","type":"BadRequestError","param":"max_tokens","code":400}}`,
		"vLLM 0.15":  `{"error":{"message":"You passed %[1]d input tokens and requested %[2]d output tokens. However, the model's context length is only %[3]d tokens, resulting in a maximum input length of %[5]d tokens. Please reduce the length of the input prompt.","type":"BadRequestError","param":"input_tokens","code":400}}`,
		"vLLM newer": `{"error":{"message":"This model's maximum context length is %[3]d tokens. However, you requested %[2]d output tokens and your prompt contains at least %[1]d input tokens, for a total of at least %[4]d tokens. Please reduce the length of the input prompt or the number of requested output tokens.","type":"BadRequestError","param":"input_tokens","code":400}}`,
	}
	for name, words := range refusals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, events := runScript(t, func(r chatRequest) reply {
				if p := r.tokens(); p+r.MaxTokens > window {
					return reply{refuse: fmt.Sprintf(words, p, r.MaxTokens, window, p+r.MaxTokens, window-r.MaxTokens)}
				}
				return reply{text: sound(r)}
			})
			// The window is known after the first refusal.
			if s.refused > 2 {
				t.Errorf("%d of %d requests were refused", s.refused, len(s.requests))
			}
			for _, e := range events {
				if e.Type == "call_finished" && e.Data.Error != "" && e.Data.Class != "context_length" {
					t.Errorf("%s: %s", e.Data.Class, e.Data.Error)
				}
			}
		})
	}
}
