package steering

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/textkit"
)

func Words(ev ponder.Event) string {
	b, _ := ev.Body.(ponder.Steer)
	if b.Do == ponder.Interpret {
		return interpretationWords(b)
	}
	var args ponder.SteerArgs
	_ = json.Unmarshal(b.Args, &args)
	words := []string{strings.ReplaceAll(string(b.Do), "_", " "), args.Question, args.Source, b.Content}
	if b.Do == ponder.SetPersona && args.Name != "" {
		words = []string{"persona", args.Name} // without its long voice
	}
	text := textkit.Truncate(textkit.OneLine(strings.Join(slices.DeleteFunc(words, func(s string) bool { return s == "" }), " ")), 80)
	if args.Priority != 0 {
		text += fmt.Sprintf(", priority %d", args.Priority)
	}
	if limits := changeWords(b); len(limits) > 0 {
		text += ": " + strings.Join(limits, ", ")
	}
	return text
}

// IsSilent reports whether an event records only a dry run, or a sentence that failed: the surface that
// got the sentence explains it.
func IsSilent(b ponder.Steer) bool {
	var in ponder.Interpretation
	_ = json.Unmarshal(b.Args, &in)
	return b.Do == ponder.Interpret && (in.DryRun || in.Problem != "")
}

func interpretationWords(b ponder.Steer) string {
	var in ponder.Interpretation
	_ = json.Unmarshal(b.Args, &in)
	text := fmt.Sprintf("%q", textkit.Truncate(textkit.OneLine(b.Content), 80))
	switch {
	case in.Meaning != "":
		return text + " understood as: " + textkit.OneLine(in.Meaning)
	case in.Problem != "":
		return text + " not understood: " + textkit.OneLine(in.Problem)
	}
	return text
}

func changeWords(b ponder.Steer) []string {
	if b.Do != ponder.SetBudget {
		return nil
	}
	c, _ := ponder.ParseLimits(b.Args) // a run refuses invalid limits
	words := limitWords(c.Budget)
	for _, name := range c.Unlimited {
		words = append(words, "no limit of "+textkit.OneLine(name))
	}
	return words
}

func limitWords(b ponder.Budget) (words []string) {
	if b.Time > 0 {
		words = append(words, b.Time.Round(time.Millisecond).String())
	}
	if b.Calls > 0 {
		words = append(words, textkit.Count(b.Calls, "call", "calls"))
	}
	if b.Tokens > 0 {
		words = append(words, textkit.Count(b.Tokens, "token", "tokens"))
	}
	if b.Money > 0 {
		words = append(words, b.Money.String())
	}
	return words
}

func AckText(ack ponder.Event, b ponder.Progress) string {
	if b.Refused {
		return fmt.Sprintf("refused at event %d: %s", ack.Seq, textkit.OneLine(b.Content))
	}
	line := fmt.Sprintf("applied at event %d: %s", ack.Seq, textkit.OneLine(b.Content))
	if n := len(b.Cancelled); n > 0 {
		line += fmt.Sprintf("; cancelled calls in flight: %s", textkit.OneLine(strings.Join(b.Cancelled, ", ")))
	}
	return line
}
