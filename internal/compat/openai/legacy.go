package openai

import (
	"cmp"
	"encoding/json"
	"net/http"

	"ponder"
	"ponder/internal/compat"
	"ponder/internal/stream"
	"ponder/llm"
)

// A legacyBody is a request of /v1/completions: a prompt instead of messages.
type legacyBody struct {
	Model       string          `json:"model"`
	Prompt      json.RawMessage `json:"prompt"` // a text or token IDs, alone or in a list
	Suffix      string          `json:"suffix"`
	Echo        bool            `json:"echo"`
	Stream      bool            `json:"stream"`
	MaxTokens   int             `json:"max_tokens"`
	Temperature *float64        `json:"temperature"`
	Stop        json.RawMessage `json:"stop"` // a text or a list of texts
	N           *int            `json:"n"`
	BestOf      *int            `json:"best_of"`
	Logprobs    *int            `json:"logprobs"`
	Options     struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type legacyAnswer struct {
	ID      string         `json:"id"`
	Object  string         `json:"object"`
	Created int64          `json:"created"`
	Model   string         `json:"model"`
	Choices []legacyChoice `json:"choices"`
	Usage   *usage         `json:"usage,omitempty"`
}

type legacyChoice struct {
	Text   string  `json:"text"`
	Index  int     `json:"index"`
	Logs   any     `json:"logprobs"`
	Finish *string `json:"finish_reason"`
}

const maxStops = 4

// toRequest returns the prompt and the request. The prompt is a message of the user.
func (in *legacyBody) toRequest(desk *compat.Dispatcher, owner string) (ask compat.Request, prompt string, stops []string, err error) {
	m, err := ModelOf(desk, in.Model)
	if err != nil {
		return ask, "", nil, err
	}
	one := 1
	switch {
	case in.BestOf != nil && *in.BestOf != *cmp.Or(in.N, &one):
		err = compat.InvalidField("best_of", "best_of: Ponder cannot compare the answers; omit best_of, and set n to get several")
	case in.Logprobs != nil:
		err = compat.InvalidField("logprobs", "logprobs: not supported; omit it")
	case in.MaxTokens < 0:
		err = compat.InvalidField("max_tokens", "max_tokens: expected at least 1")
	case in.Temperature != nil && (*in.Temperature < 0 || *in.Temperature > maxTemperature):
		err = compat.InvalidField("temperature", "temperature: expected 0 to %d", maxTemperature)
	case in.Echo && in.Suffix != "":
		err = compat.InvalidField("echo", "echo: not allowed with suffix")
	}
	if err == nil {
		prompt, err = promptOf(in.Prompt)
	}
	if err == nil && len(in.Stop) > 0 && string(in.Stop) != "null" {
		if stops, err = compat.TextsOf(in.Stop); err != nil || len(stops) > maxStops {
			err = compat.InvalidField("stop", "stop: expected a text, or a list of at most %d texts", maxStops)
		}
	}
	question := prompt
	if in.Suffix != "" {
		question = "Write the text that belongs between the two texts below. Answer with that text alone.\n\n<before>" + prompt + "</before>\n<after>" + in.Suffix + "</after>"
	}
	ask = compat.Request{
		Owner: owner, Model: m, Messages: []llm.Message{llm.Say(llm.User, question)}, MaxTokens: in.MaxTokens, Temperature: in.Temperature, Standalone: true,
	}
	return ask, prompt, stops, err
}

// promptOf returns the only prompt.
func promptOf(js json.RawMessage) (string, error) {
	texts, err := textsOf("prompt", js)
	switch {
	case err != nil:
		return "", err
	case len(texts) != 1 || texts[0] == "":
		return "", compat.InvalidField("prompt", "prompt: expected one text; send a request for each prompt")
	}
	return texts[0], nil
}

func (a *api) handleLegacy(w http.ResponseWriter, r *http.Request, owner string) error {
	var in legacyBody
	js, err := compat.Read(r, &in)
	if err != nil {
		return err
	}
	ask, prompt, stops, err := in.toRequest(a.desk, owner)
	if err != nil {
		return err
	}
	jobs, err := a.beginChoices(r, js, ask, in.N)
	if err != nil {
		return renamePrompt(err)
	}
	t := &legacyEncoder{c: legacyAnswer{ID: "cmpl-" + jobs[0].ID(), Object: "text_completion", Created: jobs[0].Started.Unix(), Model: in.Model}, stops: stops, usage: in.Options.Usage}
	if in.Echo {
		t.echo = prompt
	}
	if in.Stream {
		return renamePrompt(a.streamChoices(r, jobs, t, func() { t.start(w) }))
	}
	err = a.awaitChoices(r.Context(), jobs, func(i int, end compat.FullAnswer) {
		t.cutter = stopCutter{stops: stops}
		text := t.cutter.add(end.Text) + t.cutter.takeRest()
		t.c.Choices = append(t.c.Choices, legacyChoice{Text: t.echo + text, Index: i, Finish: t.finishOf(end.End)})
		t.c.Usage = t.c.Usage.add(end.Usage)
	})
	if err != nil {
		return renamePrompt(err)
	}
	defer jobs.markAnswered()
	return compat.Reply(w, http.StatusOK, t.c)
}

func renamePrompt(err error) error { return compat.RenameField(err, "messages", "prompt") }

// A legacyEncoder writes the text of an answer, without its reasoning.
type legacyEncoder struct {
	*stream.Writer
	choiceState
	c      legacyAnswer
	stops  []string
	cutter stopCutter
	echo   string // precedes each answer
	usage  bool
}

// start writes the start of a choice.
func (t *legacyEncoder) start(w http.ResponseWriter) {
	if t.Writer == nil {
		t.Writer = stream.NewPlainWriter(w)
	}
	t.cutter = stopCutter{stops: t.stops}
	if t.echo != "" {
		t.writeText(t.echo)
	}
}

func (t *legacyEncoder) finishOf(end compat.End) *string {
	if t.cutter.done {
		return new("stop")
	}
	return finishOf(end)
}

func (t *legacyEncoder) Quiet() { t.Comment("keep-alive") }

func (t *legacyEncoder) Part(p compat.Part) {
	if p.Kind == compat.Text {
		if text := t.cutter.add(p.Text); text != "" {
			t.writeText(text)
		}
	}
}

func (t *legacyEncoder) writeText(text string) { t.writeChoice(legacyChoice{Text: text}) }

func (t *legacyEncoder) writeChoice(one legacyChoice) {
	c := t.c
	one.Index = t.index
	c.Choices = []legacyChoice{one}
	t.writeObject(c)
}

func (t *legacyEncoder) writeObject(v any) {
	if js, err := json.Marshal(v); err == nil {
		t.Event(0, "", js)
	}
}

func (t *legacyEncoder) Fail(f *compat.APIError) {
	t.failed = true
	t.writeObject(map[string]Failure{"error": FailureOf(f)})
	t.Event(0, "", []byte("[DONE]"))
}

func (t *legacyEncoder) End(end compat.End) {
	switch end.Status {
	case ponder.Failed:
		t.Fail(end.APIError())
		return
	case ponder.Completed:
		t.writeChoice(legacyChoice{Text: t.cutter.takeRest(), Finish: t.finishOf(end)})
		if t.sum = t.sum.add(end.Usage); t.more {
			return
		}
		if t.usage {
			last := t.c
			last.Choices, last.Usage = []legacyChoice{}, t.sum
			t.writeObject(last)
		}
	}
	t.Event(0, "", []byte("[DONE]"))
}
