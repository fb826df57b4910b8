// Package title names a conversation in the background after its first answer. A cheap model writes
// a few words; without any, the title is the beginning of the message.
//
// It writes a title_generated event under the key title.
package title

import (
	_ "embed"
	"encoding/json"
	"regexp"
	"strings"
	"unicode"

	"ponder"
	"ponder/internal/textkit"
	"ponder/llm"
)

// Name is the name of the mode.
const Name = "title"

const (
	maxTitle = 60   // characters
	maxRead  = 2000 // bytes of a message
	maxWords = 8    // of a title without a model
)

//go:embed prompts/title.md
var prompt string

// New returns the mode. The first answer of a conversation wakes it; it writes one title per
// thread.
func New() ponder.Mode {
	return ponder.Mode{
		Name:    Name,
		Version: 1,
		Doc:     "Name a conversation.",
		Wakes:   isFirstAnswer,
		History: true,
		Start:   func(ponder.Run) ponder.State { return state{} },
		Carry:   func(_ ponder.Run, last ponder.State) ponder.State { return last },
		Load: func(_ ponder.Run, js []byte) (ponder.State, error) {
			var s state
			err := json.Unmarshal(js, &s)
			return s, err
		},
	}
}

func isFirstAnswer(ev ponder.Event) bool {
	_, ok := ev.Body.(ponder.AssistantMessage)
	return ok && ev.Seq < maxFirstEvents
}

// maxFirstEvents is the maximum number of events before a first answer. Later answers must not start
// runs, which would add an event per turn.
const maxFirstEvents = 60

type state struct {
	Said, Answer string `json:",omitempty"`
	Titled       bool   `json:",omitempty"`
	Title        string `json:",omitempty"`
}

func (s state) Apply(ev ponder.Event) ponder.State {
	switch b := ev.Body.(type) {
	case ponder.UserMessage:
		if s.Said == "" {
			s.Said = strings.TrimSpace(textkit.Prefix(b.Content, maxRead))
		}
	case ponder.AssistantMessage:
		if s.Answer == "" {
			s.Answer = strings.TrimSpace(textkit.Prefix(b.Content, maxRead))
		}
	case ponder.TitleGenerated:
		s.Titled = true
	case ponder.CallFinished:
		if s.Title = cleanTitle(b.Message.Text()); b.Error != "" || s.Title == "" {
			s.Title = firstWords(s.Said)
		}
	}
	return s
}

func (s state) Next(ponder.Moment) []ponder.Action {
	switch {
	case s.Titled:
		return []ponder.Action{ponder.Finish{Answer: "Titled."}}
	case s.Title != "":
		return []ponder.Action{ponder.Write{Key: "title", Bodies: []ponder.Body{ponder.TitleGenerated{Content: s.Title}}}}
	}
	text := "The user: " + s.Said + "\n\nThe answer: " + s.Answer
	return []ponder.Action{ponder.Call{Key: "name", Role: ponder.Cheap, Request: llm.Request{
		System: strings.TrimSpace(prompt), Messages: []llm.Message{llm.Say(llm.User, text)}, MaxTokens: 200, Background: true,
	}}}
}

// controlSequences matches whole terminal control sequences, including their text.
var controlSequences = regexp.MustCompile(`(?:\x1b+\[|\x{9b})[0-?]{0,32}[ -/]{0,4}[@-~]?` +
	`|(?:\x1b[\]PX^_]|[\x{90}\x{98}\x{9d}-\x{9f}])(?:[^\n\x07\x1b\x{80}-\x{9f}]*(?:\x07|\x1b\\|\x{9c})|(?:[0-9]{1,4};)?)` +
	`|\x1b(?:[#%()*+./-][0-~]|[=>6-8DEHMNOZc\\|}~])`)

// cleanTitle returns the first line of a model's text without decoration.
func cleanTitle(text string) string {
	for line := range strings.Lines(controlSequences.ReplaceAllString(text, "")) {
		line = strings.Join(strings.FieldsFunc(line, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
		line = strings.TrimSpace(strings.Trim(line, "\"'`*#_“”„«».: "))
		for _, label := range []string{"title:", "titel:"} {
			if len(line) > len(label) && strings.EqualFold(line[:len(label)], label) {
				line = strings.Trim(line[len(label):], "\"'`*#_“”„«».: ")
			}
		}
		if line != "" {
			return textkit.TruncateWords(line, maxTitle)
		}
	}
	return ""
}

func firstWords(text string) string {
	words := strings.Fields(controlSequences.ReplaceAllString(text, ""))
	title := textkit.TruncateWords(strings.Join(words[:min(len(words), maxWords)], " "), maxTitle)
	if title == "" {
		return "A conversation"
	}
	return title
}
