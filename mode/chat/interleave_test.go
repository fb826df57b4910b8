package chat_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/internal/racetest"
	"ponder/llm"
	"ponder/mode/chat"
)

// fakeReflection is a mode that reflects on request, and once more if asked meanwhile.
type fakeReflection struct {
	Run   ponder.RunID
	Asked int
	Round int
	Busy  bool
	Read  ponder.Seq
	Began ponder.Seq
	Got   string
	Bad   bool
}

func fakeReflectionMode() ponder.Mode {
	return ponder.Mode{Name: "musing", Version: 1, Wakes: requestsReflection, History: true, Start: func(r ponder.Run) ponder.State { return fakeReflection{Run: r.ID} }}
}

func requestsReflection(ev ponder.Event) bool {
	switch b := ev.Body.(type) {
	case ponder.Progress:
		return b.Stage == chat.DeepAsked
	case ponder.Observation:
		return b.Sensor == chat.DeepAsked
	}
	return false
}

func (s fakeReflection) Apply(ev ponder.Event) ponder.State {
	s.Read = ev.Seq
	if requestsReflection(ev) {
		s.Asked++
	}
	switch b := ev.Body.(type) {
	case ponder.Progress:
		if b.Stage == chat.DeepFailed && ev.Run == s.Run {
			s.Busy, s.Bad = false, false
		}
	case ponder.CallFinished:
		s.Got, s.Bad = b.Message.Text(), b.Error != ""
	case ponder.InnerMonologue:
		if ev.Run != s.Run {
			s.Asked = 0
			break
		}
		s.Busy, s.Got = false, ""
	}
	if !s.Busy && s.Asked > 0 && s.Got == "" && !s.Bad {
		s.Busy, s.Asked, s.Began = true, 0, s.Read
		s.Round++
	}
	return s
}

func (s fakeReflection) Next(ponder.Moment) []ponder.Action {
	key := fmt.Sprintf("-%d", s.Round)
	switch {
	case s.Bad:
		return []ponder.Action{ponder.Write{Key: "failed" + key, Internal: true, Bodies: []ponder.Body{ponder.Progress{Stage: chat.DeepFailed}}}}
	case s.Got != "":
		return []ponder.Action{ponder.Write{Key: "say" + key, Bodies: []ponder.Body{
			ponder.InnerMonologue{Content: fmt.Sprintf("note<%d.%s.%d>", s.Began, s.Run, s.Round), Tool: "deep_think", ReadTo: s.Began},
		}}}
	case s.Busy:
		return []ponder.Action{ponder.Call{Key: "muse" + key, Role: ponder.Slow, Request: llm.Request{Messages: []llm.Message{llm.Say(llm.User, "muse "+string(s.Run)+key)}}}}
	}
	return []ponder.Action{ponder.Finish{Answer: "mused"}}
}

var (
	noteMark  = regexp.MustCompile(`(?:\(from before the last (\d+) messages\)\n)?note<[^>]*>`)
	noteWords = regexp.MustCompile(`note<[^>]*>`)
)

// recordingModel is a model that records which turn saw which notes.
type recordingModel struct {
	mu    sync.Mutex
	shown map[string]map[string]string // by note and message: how it was marked
	rng   *rand.Rand
}

func (w *recordingModel) answerRequest(req *llm.Request) (llm.Message, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	said := lastUserText(req)
	if strings.HasPrefix(said, "muse ") {
		if w.rng.IntN(5) == 0 {
			return llm.Message{}, &llm.Error{Class: llm.Auth, Model: "fake/speaker", Message: "no"}
		}
		return sayMessage("hm"), nil
	}
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			for _, mark := range noteMark.FindAllStringSubmatch(p.Text, -1) {
				note := noteWords.FindString(mark[0])
				if w.shown[note] == nil {
					w.shown[note] = map[string]string{}
				}
				w.shown[note][said] = mark[1]
			}
		}
	}
	if toolResults(req) == nil && w.rng.IntN(3) == 0 {
		return callMessage("deep_think", `{"reason":"I wonder"}`), nil
	}
	if toolResults(req) == nil && w.rng.IntN(4) == 0 {
		return callMessage("think", `{"thought":"hm"}`), nil
	}
	return sayMessage("you said " + said), nil
}

// TestInterleaved runs conversations with messages, reflections, failures and process deaths in any
// order. Each message is answered once; each reflection is used in one turn, marked if old.
func TestInterleaved(t *testing.T) {
	plays, used := 60/racetest.Stride(4), 0
	for seed := range plays {
		synctest.Test(t, func(t *testing.T) { used += runInterleaved(t, uint64(seed)) })
	}
	if used < 3*plays {
		t.Errorf("only %d reflections were used in %d conversations: nothing was tested", used, plays)
	}
}

func runInterleaved(t *testing.T, seed uint64) (used int) {
	rng := rand.New(rand.NewPCG(seed, 1))
	w := &recordingModel{shown: map[string]map[string]string{}, rng: rand.New(rand.NewPCG(seed, 2))}
	model := fakeModel{answer: w.answerRequest, takes: func(req *llm.Request) time.Duration {
		w.mu.Lock()
		defer w.mu.Unlock()
		if strings.HasPrefix(lastUserText(req), "muse ") {
			return time.Duration(w.rng.IntN(90)) * time.Second
		}
		return time.Duration(w.rng.IntN(5000)) * time.Millisecond
	}}
	opts := chat.Options{Think: true, Deep: true, DeepAfter: 3, DeepPerHour: 1000, MaxNotes: 1 << 20}
	config := engine.Config{Modes: []ponder.Mode{chat.New(opts), fakeReflectionMode()}, Models: enginetest.Models(model, ponder.Price{})}
	mind := enginetest.Start(t, config)
	const messages = 25
	for i := range messages {
		mind.Put("", fmt.Sprint("m", i), ponder.UserMessage{Content: fmt.Sprintf("<message %d>", i)})
		for rng.IntN(2) == 0 {
			time.Sleep(time.Duration(rng.IntN(40_000)) * time.Millisecond)
			if rng.IntN(4) == 0 {
				mind.Stop()
				config.Store = mind.Store
				mind = enginetest.Start(t, config)
			}
		}
	}
	waitIdle()
	mind.Put("", "last", ponder.UserMessage{Content: "<message last>"})
	waitIdle()
	evs := mind.Events()
	mind.Stop()
	checkAnswers(t, seed, evs)
	return checkNotes(t, seed, evs, w.shown)
}

func checkAnswers(t *testing.T, seed uint64, evs []ponder.Event) {
	got := listAnswers(evs)
	for _, ev := range evs {
		if b, ok := ev.Body.(ponder.UserMessage); ok {
			n := 0
			for _, a := range got {
				if a == "you said "+b.Content {
					n++
				}
			}
			if n != 1 {
				t.Errorf("seed %d: %s was answered %d times", seed, b.Content, n)
			}
		}
	}
}

// checkNotes checks that each note was used in the first turn after it, marked if old, or reported
// as dropped.
func checkNotes(t *testing.T, seed uint64, evs []ponder.Event, shown map[string]map[string]string) (used int) {
	messages := map[string]ponder.Seq{}
	dropped := 0
	for _, ev := range evs {
		switch b := ev.Body.(type) {
		case ponder.UserMessage:
			messages[b.Content] = ev.Seq
		case ponder.SystemNote:
			n := 0
			fmt.Sscanf(b.Content, "%d reflections", &n)
			dropped += n
		}
	}
	last := messages["<message last>"]
	for _, ev := range evs {
		b, ok := ev.Body.(ponder.InnerMonologue)
		if !ok {
			continue
		}
		turns := shown[b.Content]
		switch {
		case len(turns) > 1:
			t.Errorf("seed %d: %s was used in %v", seed, b.Content, turns)
		case len(turns) == 0 && ev.Seq < last:
			dropped--
		}
		for message, mark := range turns {
			used++
			age := 0
			for _, at := range messages {
				if at > b.ReadTo && at < messages[message] {
					age++
				}
			}
			want := ""
			if age > 2 {
				want = fmt.Sprint(age)
			}
			if age > 10 || mark != want {
				t.Errorf("seed %d: %s was used %d messages late, with the mark %q", seed, b.Content, age, mark)
			}
		}
	}
	if dropped != 0 {
		t.Errorf("seed %d: %d reflections were lost without a word", seed, -dropped)
	}
	return used
}

// TestCut cuts a log with tools, thoughts and reflections after every event; it continues to the
// same events.
func TestCut(t *testing.T) {
	opts := chat.Options{Think: true, Deep: true, DeepAfter: 2, Window: 500}
	model := fakeModel{answer: func(req *llm.Request) (llm.Message, error) {
		switch said := lastUserText(req); {
		case strings.HasPrefix(said, "muse"):
			return sayMessage("hm"), nil
		case toolResults(req) == nil && strings.Contains(said, "2"):
			return callMessage("think", `{"thought":"hm"}`, "deep_think", `{"reason":"so"}`, "none", `{}`), nil
		case strings.HasPrefix(req.System, "Below"):
			return sayMessage("in short"), nil
		}
		return sayMessage("you said " + lastUserText(req) + strings.Repeat(" and so on", 20)), nil
	}}
	config := engine.Config{Modes: []ponder.Mode{chat.New(opts), fakeReflectionMode()}, Models: enginetest.Models(model, ponder.Price{})}
	var whole, events []ponder.Event
	var want []string
	synctest.Test(t, func(t *testing.T) {
		mind := enginetest.Start(t, config)
		for i := range 4 {
			mind.Put("", fmt.Sprint("m", i), ponder.UserMessage{Content: fmt.Sprint("message ", i)})
			waitIdle()
		}
		events = mind.Events()
		whole, want = mind.Copy(events), enginetest.Lines(events)
		mind.Stop()
	})
	for cut := 1; cut < len(whole); cut++ {
		if !slices.ContainsFunc(whole[cut:], func(ev ponder.Event) bool { _, ok := ev.Body.(ponder.UserMessage); return ok }) {
			synctest.Test(t, func(t *testing.T) {
				c := config
				mind := enginetest.Start(t, c)
				mind.Stop()
				store := mind.Store
				if err := store.Remove(t.Context(), enginetest.Thread); err != nil {
					t.Fatal(err)
				}
				if err := store.Create(t.Context(), ponder.Thread{ID: enginetest.Thread, Kind: ponder.KindConversation}, whole[:cut]...); err != nil {
					t.Fatal(err)
				}
				c.Store = store
				mind = enginetest.Start(t, c)
				waitIdle()
				got := enginetest.Lines(mind.Events())
				if !slices.Equal(got, want) {
					t.Errorf("cut after %d of %d (%s): %d events, want %d", cut, len(whole), whole[cut-1].Body.Type(), len(got), len(want))
				}
			})
		}
	}
}
