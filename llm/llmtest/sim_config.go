package llmtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"
)

// A SimConfig says how a [Sim] behaves. The zero value answers at once, well
// and truthfully.
type SimConfig struct {
	Seed uint64 `json:"seed"`

	// Key, if set, is the only one that is let in; others get what the
	// provider answers to a wrong key.
	Key string `json:"key,omitempty"`

	// Models, if set, are the only models there are.
	Models []string `json:"models,omitempty"`

	// Context is how many tokens a prompt may have. Zero is no limit.
	Context int `json:"context,omitempty"`

	// FirstToken is the time from the request to the first token, Token the
	// time between tokens or, with Chunks set, between chunks.
	FirstToken Delay `json:"first_token"`
	Token      Delay `json:"token"`

	// Chunks, if set, is the most pieces that an answer streams in. Fewer
	// pieces cost less.
	Chunks int `json:"chunks,omitempty"`

	// Stretch multiplies the length of answers. Zero is 1.
	Stretch int `json:"stretch,omitempty"`

	// Cached is the share of the prompt that is reported as read from a cache.
	Cached float64 `json:"cached,omitempty"`

	// PerMinute, if set, is how many requests may come in a minute, Burst how
	// many of them at once (zero: all of them), Parallel how many may be in
	// flight. More are answered with 429.
	PerMinute int `json:"per_minute,omitempty"`
	Burst     int `json:"burst,omitempty"`
	Parallel  int `json:"parallel,omitempty"`

	// RetryForm is how to say when to try again, RetryAfter when that is,
	// where no limit determines it (zero: a second).
	RetryForm  RetryForm `json:"retry_form,omitempty"`
	RetryAfter Delay     `json:"retry_after"`

	// Behaviours have the chance, from 0 to 1, with which a request meets
	// them. It is drawn by the seed, the prompt and how often the prompt came
	// before, so a prompt that is sent again may fare better.
	Behaviours map[Behaviour]float64 `json:"behaviours,omitempty"`

	// Script has the answers to give before any is made up.
	Script Script `json:"script,omitempty"`

	// LSA, if set, makes the embeddings of the model [LSAModel]; what is asked
	// for is how many of its dimensions.
	LSA *LSA `json:"-"`

	// Asked, if set, is called when a model is asked and has not answered yet;
	// Record at the end of each exchange. Both are called from several
	// goroutines.
	Asked  func(Record) `json:"-"`
	Record func(Record) `json:"-"`
}

// merge changes the fields that the JSON object has.
func (c *SimConfig) merge(text []byte) error {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	old := *c
	c.Models, c.Behaviours, c.Script = nil, nil, nil // others read them
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
	return c.check()
}

func (c *SimConfig) check() error {
	for b, chance := range c.Behaviours {
		if !b.known() {
			return fmt.Errorf("no behaviour is called %q", string(b))
		}
		if !(chance >= 0 && chance <= 1) {
			return fmt.Errorf("chance of %s: %v is not from 0 to 1", b, chance)
		}
	}
	return nil
}

// A Delay is a distribution of waiting times.
type Delay struct {
	Mean time.Duration

	// Jitter spreads the times: evenly over Mean*(1-Jitter) .. Mean*(1+Jitter),
	// or as the sigma of a lognormal distribution.
	Jitter    float64
	Lognormal bool
}

// maxDelay bounds what is drawn.
const maxDelay = 24 * time.Hour

// draw returns a time to wait.
func (d Delay) draw(rng *rand.Rand) time.Duration {
	if d.Mean <= 0 {
		return 0
	}
	if d.Jitter <= 0 {
		return d.Mean
	}
	f := 1 + d.Jitter*(2*rng.Float64()-1)
	if d.Lognormal {
		f = math.Exp(d.Jitter*rng.NormFloat64() - d.Jitter*d.Jitter/2) // of mean 1
	}
	return time.Duration(min(max(f, 0)*float64(d.Mean), float64(maxDelay)))
}

type delayJSON struct {
	Mean      string  `json:"mean"`
	Jitter    float64 `json:"jitter,omitempty"`
	Lognormal bool    `json:"lognormal,omitempty"`
}

// MarshalJSON implements [json.Marshaler]: {"mean": "1.5s", "jitter": 0.5}.
func (d Delay) MarshalJSON() ([]byte, error) {
	return json.Marshal(delayJSON{d.Mean.String(), d.Jitter, d.Lognormal})
}

// UnmarshalJSON implements [json.Unmarshaler]. It also takes a mean alone: "1.5s".
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
