package deep

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/llm"
	"ponder/mode/internal/locale"
)

func TestForm(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"as it is asked for", "hmm: odd\n\nthoughts: it may rain", "hmm: odd\n\nthoughts: it may rain"},
		{"dressed up", "**Hmm:** odd\n\n## Thoughts:\n- it may rain\n- or not", "hmm: odd\n\nthoughts: - it may rain\n- or not"},
		{"the other way round", "Thoughts: it may rain\nHmmm: odd", "hmm: odd\n\nthoughts: it may rain"},
		{"only thoughts", "thoughts: It may rain. Or not.", "hmm: It may rain.\n\nthoughts: It may rain. Or not."},
		{"only hmm", "hmm: odd", "hmm: odd\n\nthoughts: odd"},
		{"no label", "It may rain. Take a coat.", "hmm: It may rain.\n\nthoughts: Take a coat."},
		{"one sentence", "It may rain", "hmm: It may rain\n\nthoughts: It may rain"},
		{"words before", "Let me see.\nhmm: odd\nthoughts: rain", "hmm: odd\n\nthoughts: Let me see.\n\nrain"},
		{"empty labels", "hmm:\n\nthoughts:", "hmm: \n\nthoughts: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := formatReflection(tt.text); got != tt.want {
				t.Errorf("form(%q) = %q, want %q", tt.text, got, tt.want)
			}
		})
	}
}

func TestDrawn(t *testing.T) {
	draw := func(source string) string { return "hmm: odd\n```mermaid\n" + source + "\n```\nthoughts: so" }
	for _, tt := range []struct {
		name, text string
		want       []diagram
	}{
		{"none", "hmm: odd", nil},
		{"a graph", draw("graph TD\n  A[sea] --> B(shore)"), []diagram{"graph TD\n  A[sea] --> B(shore)"}},
		{"twice the same", draw("graph TD\n A-->B") + draw("graph TD\n A-->B"), []diagram{"graph TD\n A-->B"}},
		{"on one line", draw("graph TD; A-->B"), []diagram{"graph TD; A-->B"}},
		{"on the line of the fence", "hmm: odd\n```mermaid graph TD; A-->B```", []diagram{"graph TD; A-->B"}},
		{"a click on one line", draw("graph TD; A-->B; click A \"https://evil.example\""), nil},
		{"a click behind a semicolon", draw("graph TD\n A-->B; click A \"https://evil.example\""), nil},
		{"nothing in one line", draw("graph TD;"), nil},
		{"one of two", draw("graph TD; A-->B") + draw("picture; A-->B"), []diagram{"graph TD; A-->B"}},
		{"of no kind", draw("picture\n A-->B"), nil},
		{"a bracket open", draw("graph TD\n A[sea --> B"), nil},
		{"nothing in it", draw("graph TD"), nil},
		{"a click", draw("graph TD\n A-->B\n click A \"https://evil.example\""), nil},
		{"settings", draw("%%{init: {'securityLevel':'loose'}}%%\ngraph TD\n A-->B"), nil},
		{"too large", draw("graph TD\n" + strings.Repeat("A-->B\n", 5000)), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rest, got := extractDiagrams(tt.text)
			if !slices.Equal(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
			if strings.Contains(rest, "```mermaid") || !strings.Contains(rest, "hmm: odd") {
				t.Errorf("the rest is %q", rest)
			}
			if said := strings.Contains(rest, diagramNote); said != (len(tt.want) > 0) {
				t.Errorf("the rest claims a diagram: %v: %q", said, rest)
			}
		})
	}
}

func TestRoute(t *testing.T) {
	tools := []llm.Tool{{Name: "knowledge_search"}, {Name: "thread_read"}, {Name: "web_search"}, {Name: "delete_everything"}}
	for _, tt := range []struct{ topic, conversation, want string }{
		{"how the supplier pays us", "", "knowledge_search"},
		{"what we said earlier about the supplier", "", "knowledge_search thread_read"},
		{"the latest release of the compiler", "", "knowledge_search web_search"},
		{"", "User: what did you say before about prices today?", "knowledge_search thread_read web_search"},
	} {
		var got []string
		for _, tool := range Route(tt.topic, tt.conversation, tools) {
			got = append(got, tool.Name)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("Route(%q, %q) = %v, want %s", tt.topic, tt.conversation, got, tt.want)
		}
	}
}

func FuzzForm(f *testing.F) {
	f.Add("hmm: a\nthoughts: b")
	f.Add("```mermaid\ngraph TD\nA-->B\n```")
	f.Fuzz(func(t *testing.T, text string) {
		rest, list := extractDiagrams(text)
		got := formatReflection(rest)
		if !strings.HasPrefix(got, "hmm: ") || !strings.Contains(got, "\n\nthoughts: ") || len(list) > maxDiagrams {
			t.Errorf("%q became %q with %d diagrams", text, got, len(list))
		}
	})
}

type fakeModel struct {
	takes  time.Duration
	answer func(*llm.Request) (llm.Message, error)
}

func (fakeModel) Name() string { return "fake/voice" }
func (m fakeModel) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		select {
		case <-time.After(m.takes):
		case <-ctx.Done():
			yield(llm.Delta{}, &llm.Error{Class: llm.Cancelled, Model: "fake/voice", Message: "cancelled", Err: ctx.Err()})
			return
		}
		msg, err := m.answer(req)
		if err != nil {
			yield(llm.Delta{}, err)
			return
		}
		msg.Role = llm.Assistant
		yield(llm.Delta{Done: &llm.Response{Message: msg, Finish: llm.FinishStop, Model: "fake/voice"}}, nil)
	}
}

// requester is a mode that requests a reflection for messages that begin with "think".
type requester struct{ asks []string }

func requesterMode() ponder.Mode {
	return ponder.Mode{
		Name: "wisher", Version: 1, History: true,
		Wakes: func(ev ponder.Event) bool { _, ok := ev.Body.(ponder.UserMessage); return ok },
		Start: func(ponder.Run) ponder.State { return requester{} },
	}
}

func (s requester) Apply(ev ponder.Event) ponder.State {
	if b, ok := ev.Body.(ponder.UserMessage); ok && strings.HasPrefix(b.Content, "think") {
		s.asks = append(slices.Clip(s.asks), fmt.Sprint(ev.Seq))
	}
	if strings.HasPrefix(ev.Cause, "ask-") {
		s.asks = slices.DeleteFunc(slices.Clone(s.asks), func(a string) bool { return strings.HasPrefix(ev.Cause, "ask-"+a+"/") })
	}
	return s
}

func (s requester) Next(ponder.Moment) (do []ponder.Action) {
	for _, a := range s.asks {
		do = append(do, ponder.Write{Key: "ask-" + a, Internal: true, Bodies: []ponder.Body{ponder.Progress{Stage: "deep_think", Content: "the sea", Label: "why " + a}}})
	}
	if len(do) == 0 {
		do = append(do, ponder.Finish{Answer: "asked"})
	}
	return do
}

type timedInput struct {
	after time.Duration
	text  string
}

func runReflections(t *testing.T, opts Options, model fakeModel, tools []ponder.Tool, list ...timedInput) []ponder.Event {
	t.Helper()
	mind := enginetest.Start(t, engine.Config{Modes: []ponder.Mode{requesterMode(), New(opts)}, Models: enginetest.Models(model, ponder.Price{}), Tools: tools})
	for i, s := range list {
		time.Sleep(s.after)
		var body ponder.Body = ponder.UserMessage{Content: s.text}
		if topic, ok := strings.CutPrefix(s.text, "/deep "); ok {
			body = ponder.Observation{Content: topic, Sensor: "deep_think"}
		}
		mind.Put("", fmt.Sprint("m", i), body)
	}
	time.Sleep(time.Hour)
	synctest.Wait()
	return mind.Events()
}

func listOutcomes(evs []ponder.Event) (list []string) {
	for _, ev := range evs {
		switch b := ev.Body.(type) {
		case ponder.InnerMonologue:
			text := fmt.Sprintf("%s (%s, read %d", b.Content, b.Reason, b.ReadTo)
			if b.Older {
				text += ", older"
			}
			if len(b.Sources) > 0 {
				text += fmt.Sprint(", ", b.Sources)
			}
			list = append(list, text+")")
		case ponder.Progress:
			if b.Stage == stageFailed {
				list = append(list, "failed: "+b.Content)
			}
		case ponder.AttachmentAdded:
			list = append(list, b.Name+": "+b.Content)
		}
	}
	return list
}

func TestReflections(t *testing.T) {
	look := ponder.NewTool("knowledge_search", "Looks.", nil, func(_ context.Context, in struct{ Query string }) (string, error) {
		return `{"hits":[{"source":"sea.md","quote":"deep"},{"source":"sea.md"}]}`, nil
	})
	plain := func(*llm.Request) (llm.Message, error) {
		return llm.Say(llm.Assistant, "hmm: odd\n\nthoughts: so"), nil
	}
	asker := func(*llm.Request) (llm.Message, error) {
		return llm.Message{Parts: []llm.Part{{Call: &llm.ToolCall{ID: "c", Name: "knowledge_search", Input: json.RawMessage(`{"query":"sea"}`)}}}}, nil
	}
	for _, tt := range []struct {
		name  string
		opts  Options
		model fakeModel
		says  []timedInput
		want  []string
	}{
		{"one", Options{}, fakeModel{time.Minute, plain}, []timedInput{{0, "think"}}, []string{"hmm: odd\n\nthoughts: so (why 1, read 3)"}},
		{"nothing is asked for", Options{}, fakeModel{time.Minute, plain}, []timedInput{{0, "hello"}}, nil},
		{"asked again meanwhile", Options{}, fakeModel{time.Minute, plain}, []timedInput{{0, "think"}, {time.Second, "think"}, {time.Second, "think"}},
			[]string{"hmm: odd\n\nthoughts: so (why 1, read 3)", "hmm: odd\n\nthoughts: so (why 11, read 16)"}},
		{"tools, twice at most", Options{Tools: []llm.Tool{look.Tool}}, fakeModel{time.Second, func(req *llm.Request) (llm.Message, error) {
			if req.ToolChoice == "none" {
				return plain(req)
			}
			return asker(req)
		}}, []timedInput{{0, "think"}}, []string{"hmm: odd\n\nthoughts: so (why 1, read 3, [sea.md])"}},
		{"tools for ever", Options{Tools: []llm.Tool{look.Tool}}, fakeModel{time.Second, asker}, []timedInput{{0, "think"}}, []string{"failed: the model returned no text"}},
		{"the user asks", Options{}, fakeModel{time.Minute, func(req *llm.Request) (llm.Message, error) {
			_, topic, _ := strings.Cut(req.Messages[0].Parts[0].Text, "Focus on: ")
			return llm.Say(llm.Assistant, "hmm: odd\n\nthoughts: "+topic), nil
		}}, []timedInput{{0, "/deep the sea"}, {time.Second, "/deep the sky"}},
			[]string{"hmm: odd\n\nthoughts: the sea (the user asked for it, read 1)", "hmm: odd\n\nthoughts: the sky (the user asked for it, read 6)"}},
		{"the user asks, too slow the second time", Options{Limit: 90 * time.Second}, fakeModel{80 * time.Second, plain}, []timedInput{{0, "/deep a"}, {time.Second, "/deep b"}},
			[]string{"hmm: odd\n\nthoughts: so (the user asked for it, read 1)", "hmm: odd\n\nthoughts: so (the user asked for it, read 6)"}},
		{"too slow", Options{}, fakeModel{time.Hour, plain}, []timedInput{{0, "think"}}, []string{"failed: it took more than 2m0s"}},
		{"the second too slow", Options{Limit: 90 * time.Second}, fakeModel{time.Minute, plain}, []timedInput{{0, "think"}, {time.Second, "think"}},
			[]string{"hmm: odd\n\nthoughts: so (why 1, read 3)", "hmm: odd\n\nthoughts: so (why 7, read 12)"}},
		{"fails", Options{}, fakeModel{time.Second, func(*llm.Request) (llm.Message, error) {
			return llm.Message{}, &llm.Error{Class: llm.Auth, Model: "fake/voice", Message: "the key is not good"}
		}}, []timedInput{{0, "think"}}, []string{"failed: fake/voice: the key is not good"}},
		{"older, and marked", Options{NoRebase: true}, fakeModel{time.Minute, plain}, []timedInput{{0, "think"}, {time.Second, "a"}, {time.Second, "b"}, {time.Second, "c"}},
			[]string{"hmm: odd\n\nthoughts: so (why 1, read 3, older)"}},
		{"older, and rebased", Options{}, fakeModel{time.Minute, func(req *llm.Request) (llm.Message, error) {
			if strings.HasPrefix(req.System, "Below are notes") {
				return llm.Say(llm.Assistant, "hmm: even now\n\nthoughts: yes"), nil
			}
			return plain(req)
		}}, []timedInput{{0, "think"}, {time.Second, "a"}, {time.Second, "b"}, {time.Second, "c"}}, []string{"hmm: even now\n\nthoughts: yes (why 1, read 18)"}},
		{"older, and of no use", Options{}, fakeModel{time.Minute, func(req *llm.Request) (llm.Message, error) {
			if strings.HasPrefix(req.System, "Below are notes") {
				return llm.Say(llm.Assistant, "Nothing."), nil
			}
			return plain(req)
		}}, []timedInput{{0, "think"}, {time.Second, "a"}, {time.Second, "b"}, {time.Second, "c"}},
			[]string{"failed: the reflection is outdated by newer messages"}},
		{"a diagram", Options{}, fakeModel{time.Second, func(*llm.Request) (llm.Message, error) {
			return llm.Say(llm.Assistant, "hmm: odd\nthoughts: so\n```mermaid\ngraph TD\nA-->B\n```"), nil
		}}, []timedInput{{0, "think"}}, []string{"diagram-3-1.mmd: graph TD\nA-->B",
			"hmm: odd\n\nthoughts: so\n(A diagram of this was put beside the conversation.) (why 1, read 3)"}},
		{"nothing but a diagram", Options{}, fakeModel{time.Second, func(*llm.Request) (llm.Message, error) {
			return llm.Say(llm.Assistant, "```mermaid\ngraph TD; A-->B\n```"), nil
		}}, []timedInput{{0, "think"}}, []string{"diagram-3-1.mmd: graph TD; A-->B",
			"hmm: I drew a diagram.\n\nthoughts: (A diagram of this was put beside the conversation.) (why 1, read 3)"}},
		{"nothing but a diagram that is refused", Options{}, fakeModel{time.Second, func(*llm.Request) (llm.Message, error) {
			return llm.Say(llm.Assistant, "```mermaid\npicture; A-->B\n```"), nil
		}}, []timedInput{{0, "think"}}, []string{"failed: the model returned only an invalid diagram"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := listOutcomes(runReflections(t, tt.opts, tt.model, []ponder.Tool{look}, tt.says...))
				if !slices.Equal(got, tt.want) {
					t.Errorf("%q\nwant\n%q", got, tt.want)
				}
			})
		})
	}
}

// TestHourlyLimit refuses requests of users beyond the limit, with the time of the next one.
func TestHourlyLimit(t *testing.T) {
	plain := func(*llm.Request) (llm.Message, error) {
		return llm.Say(llm.Assistant, "hmm: odd\n\nthoughts: so"), nil
	}
	const done, refused = "hmm: odd\n\nthoughts: so", "at most 2 reflections per hour: the next one is possible at 02:00; `ponder settings deep_think.per_hour` changes the limit"
	opts := Options{PerHour: 2, Locale: locale.Locale{Offset: 3600}}
	for _, tt := range []struct {
		name string
		says []timedInput
		want []string
	}{
		{"in turn", []timedInput{{0, "/deep a"}, {10 * time.Minute, "/deep b"}, {10 * time.Minute, "/deep c"}, {39 * time.Minute, "/deep d"}, {time.Minute, "/deep e"}},
			[]string{done, done, refused, refused, done}},
		{"during a reflection", []timedInput{{0, "/deep a"}, {time.Second, "/deep b"}, {time.Second, "/deep c"}}, []string{refused, done, done}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got []string
				for _, ev := range runReflections(t, opts, fakeModel{time.Minute, plain}, nil, tt.says...) {
					switch b := ev.Body.(type) {
					case ponder.InnerMonologue:
						got = append(got, b.Content)
					case ponder.Progress:
						if b.Stage == stageRefused && ev.Internal {
							got = append(got, b.Content)
						}
					}
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("%q\nwant\n%q", got, tt.want)
				}
			})
		})
	}
}

// TestResult checks that a run completes with a result even if the reflection failed. Its status
// becomes that of the conversation.
func TestResult(t *testing.T) {
	fails := func(req *llm.Request) (llm.Message, error) {
		if strings.Contains(req.Messages[0].Parts[0].Text, "Focus on: good") {
			return llm.Say(llm.Assistant, "hmm: odd\n\nthoughts: so"), nil
		}
		return llm.Message{}, &llm.Error{Class: llm.Auth, Model: "fake/voice", Message: "the key is not good"}
	}
	for _, tt := range []struct {
		name string
		says []timedInput
		want []string
	}{
		{"well", []timedInput{{0, "/deep good"}}, []string{"completed: Reflected."}},
		{"failed", []timedInput{{0, "/deep bad"}}, []string{"completed: The reflection failed: fake/voice: the key is not good"}},
		{"failed, and the next well", []timedInput{{0, "/deep bad"}, {time.Hour, "/deep good"}},
			[]string{"completed: The reflection failed: fake/voice: the key is not good", "completed: Reflected."}},
		{"well, and the next failed", []timedInput{{0, "/deep good"}, {time.Hour, "/deep bad"}},
			[]string{"completed: Reflected.", "completed: The reflection failed: fake/voice: the key is not good"}},
		{"both in one run", []timedInput{{0, "/deep good"}, {time.Millisecond, "/deep bad"}},
			[]string{"completed: Reflected; another reflection failed: fake/voice: the key is not good"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got []string
				for _, ev := range runReflections(t, Options{}, fakeModel{time.Second, fails}, nil, tt.says...) {
					if b, ok := ev.Body.(ponder.RunFinished); ok {
						got = append(got, string(b.Status)+": "+b.Answer)
					}
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("%q\nwant\n%q", got, tt.want)
				}
			})
		})
	}
}
