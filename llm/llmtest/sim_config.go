package llmtest

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"

	"ponder/llm"
)

// A SimConfig configures a [Sim]. The zero value has no delays or faults.
type SimConfig struct {
	Seed uint64 `json:"seed"`

	// Key is the only accepted key, if set.
	Key string `json:"key,omitempty"`

	// Models are the only models, if set.
	Models []string `json:"models,omitempty"`

	// Context is in tokens. Zero: no limit.
	Context int `json:"context,omitempty"`

	// Overflow is the server whose words refuse a longer prompt; "" is OpenAI.
	Overflow Overflow `json:"overflow,omitempty"`

	// FirstToken delays the first token, Token each other one, or each chunk.
	FirstToken Delay `json:"first_token"`
	Token      Delay `json:"token"`

	// Chunks limits the pieces of a stream, if set. Fewer cost less.
	Chunks int `json:"chunks,omitempty"`

	// Stretch multiplies answers' length. Zero is 1.
	Stretch int `json:"stretch,omitempty"`

	// Cached is the share of the prompt reported as cached.
	Cached float64 `json:"cached,omitempty"`

	// PerMinute limits requests, Burst those at once (zero: PerMinute), Parallel those in
	// flight. Further requests get 429.
	PerMinute int `json:"per_minute,omitempty"`
	Burst     int `json:"burst,omitempty"`
	Parallel  int `json:"parallel,omitempty"`

	// RetryForm and RetryAfter set the retry delay if no limit determines it (zero: a
	// second).
	RetryForm  RetryForm `json:"retry_form,omitempty"`
	RetryAfter Delay     `json:"retry_after"`

	// Behaviours are chances from 0 to 1, drawn by seed, prompt and attempt, so that a
	// retry may succeed.
	Behaviours map[Behaviour]float64 `json:"behaviours,omitempty"`

	// Script has answers that precede generated ones.
	Script Script `json:"script,omitempty"`

	// LSA provides the embeddings of [LSAModel]; requests may use fewer dimensions.
	LSA *LSA `json:"-"`

	// Asked is called before each answer, Record after each exchange, from several
	// goroutines.
	Asked  func(Record) `json:"-"`
	Record func(Record) `json:"-"`
}

func (c *SimConfig) mergeJSON(text []byte) error {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	old := *c
	c.Models, c.Behaviours, c.Script = nil, nil, nil // concurrent requests read the old ones
	if err := d.Decode(c); err != nil {
		return fmt.Errorf("read settings: %w", err)
	}
	if c.Models == nil {
		c.Models = old.Models
	}
	if c.Behaviours == nil {
		c.Behaviours = old.Behaviours
	}
	if c.Script == nil {
		c.Script = old.Script
	}
	return c.validate()
}

func (c *SimConfig) validate() error {
	if c.Overflow != "" && !slices.Contains(Overflows(), c.Overflow) {
		return fmt.Errorf("unknown overflow %q: choose one of %s", string(c.Overflow), OverflowNames())
	}
	for b, chance := range c.Behaviours {
		if !b.isKnown() {
			return fmt.Errorf("unknown behaviour %q", string(b))
		}
		if !(chance >= 0 && chance <= 1) {
			return fmt.Errorf("chance of %s: %v is not from 0 to 1", b, chance)
		}
	}
	return nil
}

// A Delay is a distribution of delays.
type Delay struct {
	Mean time.Duration

	// Jitter spreads uniformly over Mean*(1-Jitter) .. Mean*(1+Jitter), or is the sigma
	// if Lognormal.
	Jitter    float64
	Lognormal bool
}

const maxDelay = 24 * time.Hour

func (d Delay) drawDelay(rng *rand.Rand) time.Duration {
	if d.Mean <= 0 {
		return 0
	}
	if d.Jitter <= 0 {
		return d.Mean
	}
	f := 1 + d.Jitter*(2*rng.Float64()-1)
	if d.Lognormal {
		f = math.Exp(d.Jitter*rng.NormFloat64() - d.Jitter*d.Jitter/2) // mean 1
	}
	return time.Duration(min(max(f, 0)*float64(d.Mean), float64(maxDelay)))
}

type delayJSON struct {
	Mean      string  `json:"mean"`
	Jitter    float64 `json:"jitter,omitempty"`
	Lognormal bool    `json:"lognormal,omitempty"`
}

// MarshalJSON returns {"mean": "1.5s", "jitter": 0.5}.
func (d Delay) MarshalJSON() ([]byte, error) {
	return json.Marshal(delayJSON{d.Mean.String(), d.Jitter, d.Lognormal})
}

// UnmarshalJSON also accepts "1.5s".
func (d *Delay) UnmarshalJSON(b []byte) error {
	var j delayJSON
	if len(b) > 0 && b[0] == '"' {
		if err := json.Unmarshal(b, &j.Mean); err != nil {
			return err
		}
	} else if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	j.Mean = cmp.Or(j.Mean, "0")
	mean, err := time.ParseDuration(j.Mean)
	if err != nil {
		return fmt.Errorf("read delay: %w", err)
	}
	*d = Delay{mean, j.Jitter, j.Lognormal}
	return nil
}

// A Script answers with its first matching line.
type Script []Line

// A Line is a conditional answer. The zero value matches everything and changes nothing.
type Line struct {
	// Match is for the last message or system prompt, Model for the name. Nil matches
	// all.
	Match *regexp.Regexp `json:"match,omitempty"`
	Model *regexp.Regexp `json:"model,omitempty"`

	// Times limits the line's answers, Each those to a prompt, if set.
	Times int `json:"times,omitempty"`
	Each  int `json:"each,omitempty"`

	// Reply is text in a string, or other JSON. Without Reply and Calls the answer is
	// generated.
	Reply     json.RawMessage `json:"reply,omitempty"`
	Reasoning string          `json:"reasoning,omitempty"`
	Calls     []ScriptCall    `json:"calls,omitempty"`

	// Behaviours add to drawn ones.
	Behaviours []Behaviour `json:"behaviours,omitempty"`

	// Latency replaces FirstToken.
	Latency *Delay `json:"latency,omitempty"`

	// Usage replaces the reported usage.
	Usage *llm.Usage `json:"usage,omitempty"`

	// Error replaces the answer.
	Error *ScriptError `json:"error,omitempty"`
}

type ScriptCall struct {
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type ScriptError struct {
	Status     int    `json:"status"`
	Message    string `json:"message,omitempty"`
	RetryAfter Delay  `json:"retry_after"`
}

// ReadScript reads a JSON array or a sequence of lines.
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
		return s, s.validate()
	}
	for {
		var l Line
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			return s, s.validate()
		} else if err != nil {
			return nil, fmt.Errorf("read script: line %d: %w", len(s)+1, err)
		}
		s = append(s, l)
	}
}

func firstByte(in *bufio.Reader) (byte, error) {
	for {
		b, err := in.ReadByte()
		if err != nil || !slices.Contains([]byte(" \t\r\n"), b) {
			return b, errors.Join(err, in.UnreadByte())
		}
	}
}

func (s Script) validate() error {
	for i, l := range s {
		for _, b := range l.Behaviours {
			if !b.isKnown() {
				return fmt.Errorf("read script: line %d: unknown behaviour %q", i+1, string(b))
			}
		}
		if e := l.Error; e != nil && (e.Status < 400 || e.Status > 599) {
			return fmt.Errorf("read script: line %d: error status %d is not from 400 to 599", i+1, e.Status)
		}
	}
	return nil
}

func (s *Sim) matchLine(script Script, a *parsedRequest) *Line {
	for i := range script {
		l := &script[i]
		if l.Match != nil && !l.Match.MatchString(a.last) && !l.Match.MatchString(a.system) ||
			l.Model != nil && !l.Model.MatchString(a.model) {
			continue
		}
		if l.Each > 0 && s.seen.add(mixHash(a.hash, uint64(i)+1)) > l.Each ||
			l.Times > 0 && s.seen.add(mixHash(scriptKey, uint64(i)+1)) > l.Times {
			continue
		}
		return l
	}
	return nil
}

// scriptKey separates counts of lines and prompts.
const scriptKey = 0x5c1297

func (l *Line) replyText() string {
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

func mixHash(a, b uint64) uint64 {
	x := a ^ b*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
