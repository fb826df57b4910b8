package llmtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"ponder/llm"
)

// A Script is a list of answers. The first line that matches a request answers it.
type Script []Line

// A Line of a script is an answer and what it is for. The zero value matches
// everything and changes nothing.
type Line struct {
	// Match is looked for in the last message, then in the system prompt;
	// Model in the model's name. A nil one matches everything.
	Match *regexp.Regexp `json:"match,omitempty"`
	Model *regexp.Regexp `json:"model,omitempty"`

	// Times, if set, is how often the line answers, Each how often it answers
	// the same prompt. After that it matches nothing.
	Times int `json:"times,omitempty"`
	Each  int `json:"each,omitempty"`

	// Reply is the answer: a JSON string is its text, any other value its JSON.
	// Without Reply and Calls the answer is made up.
	Reply     json.RawMessage `json:"reply,omitempty"`
	Reasoning string          `json:"reasoning,omitempty"`
	Calls     []ScriptCall    `json:"calls,omitempty"`

	// Behaviours come on top of those that are drawn.
	Behaviours []Behaviour `json:"behaviours,omitempty"`

	// Latency, if set, is the time to the first token.
	Latency *Delay `json:"latency,omitempty"`

	// Usage, if set, is what the answer claims to have used.
	Usage *llm.Usage `json:"usage,omitempty"`

	// Error, if set, is answered in place of anything else.
	Error *ScriptError `json:"error,omitempty"`
}

// A ScriptCall is a call of a tool in a scripted answer.
type ScriptCall struct {
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// A ScriptError is an error status with a message.
type ScriptError struct {
	Status     int    `json:"status"`
	Message    string `json:"message,omitempty"`
	RetryAfter Delay  `json:"retry_after"`
}

// ReadScript reads a script: a JSON array of lines, or one line after another.
func ReadScript(r io.Reader) (Script, error) {
	in := bufio.NewReader(r)
	d := json.NewDecoder(in)
	d.DisallowUnknownFields()
	var s Script
	if first, err := firstByte(in); err != nil || first == '[' {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		if err := d.Decode(&s); err != nil {
			return nil, fmt.Errorf("read script: %w", err)
		}
		return s, s.check()
	}
	for {
		var l Line
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			return s, s.check()
		} else if err != nil {
			return nil, fmt.Errorf("read script: line %d: %w", len(s)+1, err)
		}
		s = append(s, l)
	}
}

// firstByte returns the first byte that is not space, and leaves it.
func firstByte(in *bufio.Reader) (byte, error) {
	for {
		b, err := in.ReadByte()
		if err != nil || !slices.Contains([]byte(" \t\r\n"), b) {
			return b, errors.Join(err, in.UnreadByte())
		}
	}
}

func (s Script) check() error {
	for i, l := range s {
		for _, b := range l.Behaviours {
			if !b.known() {
				return fmt.Errorf("read script: line %d: no behaviour is called %q", i+1, string(b))
			}
		}
		if e := l.Error; e != nil && (e.Status < 400 || e.Status > 599) {
			return fmt.Errorf("read script: line %d: error status %d is not from 400 to 599", i+1, e.Status)
		}
	}
	return nil
}

// line returns the first line for a request, or nil.
func (s *Sim) line(script Script, a *ask) *Line {
	for i := range script {
		l := &script[i]
		if l.Match != nil && !l.Match.MatchString(a.last) && !l.Match.MatchString(a.system) ||
			l.Model != nil && !l.Model.MatchString(a.model) {
			continue
		}
		if l.Each > 0 && s.seen.add(mix(a.hash, uint64(i)+1)) > l.Each ||
			l.Times > 0 && s.seen.add(mix(scriptKey, uint64(i)+1)) > l.Times {
			continue
		}
		return l
	}
	return nil
}

// scriptKey tells counts of script lines from counts of prompts.
const scriptKey = 0x5c1297

// text returns the text of the reply.
func (l *Line) text() string {
	var s string
	if json.Unmarshal(l.Reply, &s) == nil {
		return s
	}
	var b bytes.Buffer
	if json.Compact(&b, l.Reply) != nil {
		return string(l.Reply)
	}
	return b.String()
}

// mix joins two numbers into one that looks random.
func mix(a, b uint64) uint64 {
	x := a ^ b*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
