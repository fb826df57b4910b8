package llmtest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"ponder/llm"
)

// awkward is text that transit easily damages.
const awkward = "He said: \"α → ω\" — 🧠👩‍👩‍👧; back\\slash, <tag> & data: x\n\n\ttab, null byte \\u0000, 你好, ٠١٢, e\u0301.\r\nend"

func answerTests() []conformTest {
	return []conformTest{
		{name: "text", config: SimConfig{Script: Script{scriptLine("capital", "The capital is Paris.")}}, run: conformText},
		{name: "awkward text", config: SimConfig{Script: Script{scriptLine("", awkward)}}, run: func(r *rig) {
			if got := r.generate(newQuestion("Say it.")).Message.Text(); got != awkward {
				r.Errorf("text is %q, want %q", got, awkward)
			}
		}},
		{name: "comments between events", config: SimConfig{Behaviours: certainChances(Comments), Script: Script{scriptLine("", strings.Repeat("many words ", 50))}}, run: func(r *rig) {
			if got, want := r.generate(newQuestion("Speak.")).Message.Text(), strings.Repeat("many words ", 50); got != want {
				r.Errorf("text is %q, want %q", got, want)
			}
		}},
		{name: "big answer", config: SimConfig{Chunks: 2, Script: Script{scriptLine("", strings.Repeat("All work and no play. ", 4000))}}, run: func(r *rig) {
			if got, want := len(r.generate(newQuestion("Type.")).Message.Text()), 22*4000; got != want {
				r.Errorf("text has %d bytes, want %d", got, want)
			}
		}},
		{name: "empty answer", config: SimConfig{Behaviours: certainChances(Empty)}, run: func(r *rig) {
			if done := r.generate(newQuestion("Be silent.")); done.Message.Text() != "" {
				r.Errorf("text is %q, want none", done.Message.Text())
			}
		}},
		{name: "system prompt", config: SimConfig{Script: Script{scriptLine("^only-in-system$", "seen")}}, run: func(r *rig) {
			req := newQuestion("Do you see it?")
			req.System = "only-in-system"
			if got := r.generate(req).Message.Text(); got != "seen" {
				r.Errorf("text is %q: the system prompt did not arrive as one", got)
			}
		}},
		{name: "history", run: conformHistory},
		{name: "length", config: SimConfig{Stretch: 5}, run: conformLength},
		{name: "filtered answer", needs: NoFilter, config: SimConfig{Behaviours: certainChances(Filtered)}, run: func(r *rig) {
			if done := r.generate(newQuestion("Tell me all.")); done.Finish != llm.FinishFilter {
				r.Errorf("Finish is %q, want %q", done.Finish, llm.FinishFilter)
			}
		}},
		{name: "schema", run: conformSchema},
		{name: "schema without native support", config: SimConfig{Behaviours: certainChances(NoSchema)}, run: conformNoSchema},
		{name: "reasoning", config: SimConfig{Behaviours: certainChances(Reason)}, run: conformReasoning},
		{name: "images", run: conformImages},
		{name: "same bytes from a stored request", run: conformStored},
		{name: "connections are used again", run: func(r *rig) {
			clients := map[string]bool{}
			for i := range 10 {
				r.generate(newQuestion(fmt.Sprintf("Question %d?", i)))
				clients[r.nextRecord().Client] = true
			}
			if len(clients) == 10 {
				r.Error("each of 10 requests opened its own connection")
			}
		}},
		{name: "many at once", config: SimConfig{FirstToken: Delay{Mean: 5e6, Jitter: 1}}, run: conformMany},
	}
}

func conformText(r *rig) {
	done := r.generate(newQuestion("What is the capital of France?"))
	rec := r.nextRecord()
	if got := done.Message.Text(); got != "The capital is Paris." {
		r.Errorf("text is %q", got)
	}
	if done.Finish != llm.FinishStop {
		r.Errorf("Finish is %q, want %q", done.Finish, llm.FinishStop)
	}
	if done.ID == "" && r.adapter.supports(NoAnswerID) {
		r.Error("the answer has no ID")
	}
	if rec.Model != r.adapter.Model {
		r.Errorf("asked model %q, want %q", rec.Model, r.adapter.Model)
	}
	if !rec.Streamed {
		r.Error("the answer was not streamed")
	}
}

func conformHistory(r *rig) {
	req := &llm.Request{System: "You are brief.", Messages: []llm.Message{
		llm.Say(llm.User, "first-question"), llm.Say(llm.Assistant, "first-answer"),
		{Role: llm.User, Parts: []llm.Part{{Text: "second-"}, {Text: "question"}}},
	}}
	r.generate(req)
	rec := r.nextRecord()
	at := -1
	for _, text := range []string{"first-question", "first-answer", "second-"} {
		i := bytes.Index(rec.Body, []byte(text))
		if i <= at {
			r.Errorf("%q is missing or out of order in %s", text, rec.Body)
		}
		at = i
	}
}

func conformLength(r *rig) {
	req := newQuestion("Write a long story about a fox.")
	req.MaxTokens = 120 // enough to reason first
	done := r.generate(req)
	if done.Finish != llm.FinishLength {
		r.Errorf("Finish is %q, want %q", done.Finish, llm.FinishLength)
	}
	if done.Message.Text() == "" || done.Usage.Output > 120 {
		r.Errorf("text is %q with %d tokens, want some text in 120", done.Message.Text(), done.Usage.Output)
	}
}

type person struct {
	Name   string   `json:"name"`
	Age    int      `json:"age"`
	Mood   string   `json:"mood"`
	Score  float64  `json:"score"`
	Quirks []string `json:"quirks"`
}

const personSchema = `{"type":"object","properties":{` +
	`"name":{"type":"string","description":"full name"},"age":{"type":"integer","minimum":0,"maximum":130},` +
	`"mood":{"type":"string","enum":["calm","merry"]},"score":{"type":"number","minimum":0,"maximum":1},` +
	`"quirks":{"type":["null","array"],"items":{"type":"string"}}},` +
	`"required":["name","age","mood","score","quirks"],"additionalProperties":false}`

func personRequest() *llm.Request {
	req := newQuestion("Make up a person who lives in Lisbon.")
	req.Schema = &llm.Schema{Name: "person", JSON: json.RawMessage(personSchema)}
	return req
}

func conformSchema(r *rig) {
	req := personRequest()
	done := r.generate(req)
	p, err := llm.Decode[person](done.Message.Text(), req.Schema)
	if err != nil {
		r.Fatalf("decode %q: %v", done.Message.Text(), err)
	}
	if p.Name == "" || p.Mood != "calm" && p.Mood != "merry" {
		r.Errorf("person is %+v", p)
	}
	if done.Finish != llm.FinishStop || len(done.Message.Calls()) > 0 {
		r.Errorf("Finish is %q with %d calls: the answer is not a tool call", done.Finish, len(done.Message.Calls()))
	}
}

// conformNoSchema accepts a fallback or BadRequest.
func conformNoSchema(r *rig) {
	req := personRequest()
	done, err := llm.Collect(r.model.Generate(r.Context(), req))
	if err != nil {
		if llm.ClassOf(err) != llm.BadRequest {
			r.Errorf("class is %q, want %q: %v", llm.ClassOf(err), llm.BadRequest, err)
		}
		return
	}
	if _, err := llm.Decode[person](done.Message.Text(), req.Schema); err != nil {
		r.Errorf("decode %q: %v", done.Message.Text(), err)
	}
}

// conformReasoning also sends the reasoning to both models; the server refuses another
// model's.
func conformReasoning(r *rig) {
	req := newQuestion("Which is more, a dozen or eleven?")
	req.Effort, req.MaxTokens = "medium", 30000
	done := r.generate(req)
	if reasoningText(done.Message) == "" {
		r.Error("the answer has no reasoning")
	}
	if strings.Contains(done.Message.Text(), "I will answer with that in mind") {
		r.Errorf("text %q has the reasoning in it", done.Message.Text())
	}
	if done.Usage.Reasoning <= 0 || done.Usage.Reasoning > done.Usage.Output {
		r.Logf("usage is %+v", done.Usage) // not all dialects count it
	}
	req.Messages = append(req.Messages, done.Message, llm.Say(llm.User, "And why?"))
	for _, id := range []string{r.adapter.Model, r.adapter.Other} {
		if next := r.generateWith(r.provider.Model(id), req); next.Message.Text() == "" {
			r.Errorf("no answer of %s to a conversation with reasoning", id)
		}
	}
}

func conformImages(r *rig) {
	pixel := []byte("\x89PNG\r\n\x1a\n fake image data that is long enough to be found")
	req := &llm.Request{Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{
		{Text: "What is in the picture?"}, {Media: &llm.Media{Type: "image/png", Data: pixel}},
	}}}}
	r.generate(req)
	rec := r.nextRecord()
	if !hasBody(rec.Body, base64.StdEncoding.EncodeToString(pixel)) {
		r.Errorf("the image is not in the request: %s", rec.Body)
	}
	if rec.Input < imageTokens {
		r.Errorf("the server saw %d tokens and no image", rec.Input)
	}
}

// conformStored compares a request with its stored form.
func conformStored(r *rig) {
	first := personRequest()
	first.System, first.MaxTokens, first.Effort, first.Cache = "Think well.", 9000, "low", true
	temperature := 0.5
	first.Temperature, first.Penalty = &temperature, 1
	first.Tools = []llm.Tool{{Name: "look_up", Doc: "Looks something up.", Schema: json.RawMessage(`{"type":"object","properties":{"what":{"type":"string"}},"required":["what"]}`)}}
	stored, err := json.Marshal(first)
	if err != nil {
		r.Fatal(err)
	}
	var second llm.Request
	if err := json.Unmarshal(stored, &second); err != nil {
		r.Fatal(err)
	}
	r.generate(first)
	r.generate(&second)
	if a, b := r.nextRecord().Body, r.nextRecord().Body; !bytes.Equal(a, b) {
		r.Errorf("the request is sent as\n%s\nand when read back as\n%s", a, b)
	}
}

func conformMany(r *rig) {
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			phrase := fmt.Sprintf("unicorns%d", i)
			done, err := llm.Collect(r.model.Generate(r.Context(), newQuestion("What about "+phrase+" today?")))
			if err != nil {
				r.Errorf("ask %d: %v", i, err)
				return
			}
			for j := range 40 {
				if j != i && strings.Contains(done.Message.Text(), fmt.Sprintf("unicorns%d ", j)) {
					r.Errorf("answer %d is that to question %d: %q", i, j, done.Message.Text())
				}
			}
		})
	}
	wg.Wait()
	for i := range 40 {
		if rec := r.nextRecord(); !rec.Whole {
			r.Errorf("record %d has no complete answer: %+v", i, rec)
		}
	}
}
