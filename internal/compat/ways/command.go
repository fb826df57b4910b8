package ways

import (
	"slices"
	"strconv"
	"strings"
)

// A Command is a line that begins with a slash, such as "/pause".
type Command struct {
	Name    string  // without the slash
	Text    string  // the rest, without options
	Options Options // of a way: name=value words before the text
}

// A CommandDoc documents a command.
type CommandDoc struct{ Name, Hint, Doc string }

// The names of commands that are no ways.
const (
	Pause    = "pause"
	Resume   = "resume"
	Cancel   = "cancel"
	Answer   = "answer"
	Tell     = "tell"
	Question = "question"
	Steer    = "steer"
	Undo     = "undo"
	Status   = "status"
	Report   = "report"
	Tick     = "tick"
)

// Commands returns the commands: the ways, then those that steer.
func Commands() (list []CommandDoc) {
	for _, w := range All() {
		list = append(list, CommandDoc{w.ID, "question", w.Doc})
	}
	return append(list,
		CommandDoc{Pause, "", "Pause the running session or research"},
		CommandDoc{Resume, "", "Continue it, and approve the plan that waits"},
		CommandDoc{Cancel, "", "End it without an answer"},
		CommandDoc{Answer, "", "Make it answer now with the findings so far"},
		CommandDoc{Tell, "fact", "State a fact for it"},
		CommandDoc{Question, "question", "Add a question to it"},
		CommandDoc{Steer, "change", "Change it in plain words: ten more minutes, and stop at 50 cents"},
		CommandDoc{Undo, "", "Revert the last change"},
		CommandDoc{Status, "", "Show its progress"},
		CommandDoc{Report, "", "Show its report"},
		CommandDoc{Tick, "", "Let the subconscious look around now"},
	)
}

// ParseCommand parses a message that begins with a known command. Other messages are no command, such as a path.
func ParseCommand(text string) (c Command, ok bool) {
	rest, slash := strings.CutPrefix(strings.TrimSpace(text), "/")
	if !slash {
		return c, false
	}
	name, rest, _ := strings.Cut(rest, " ")
	if head, tail, cut := strings.Cut(name, "\n"); cut {
		name, rest = head, tail+" "+rest
	}
	name = strings.ReplaceAll(name, "-", "_")
	if !slices.ContainsFunc(Commands(), func(d CommandDoc) bool { return d.Name == name }) {
		return c, false
	}
	c.Name, c.Text = name, strings.TrimSpace(rest)
	if _, isWay := FindWay(name); isWay {
		c.readOptions()
		c.Options.Way = name
	}
	return c, true
}

// readOptions moves words such as minutes=5 from the start of the text to the options.
func (c *Command) readOptions() {
	for {
		word, rest, _ := strings.Cut(c.Text, " ")
		name, value, ok := strings.Cut(word, "=")
		if !ok || !c.Options.setOption(name, value) {
			return
		}
		c.Text = strings.TrimSpace(rest)
	}
}

// setOption reports whether name is an option and value is valid for it.
func (o *Options) setOption(name, value string) bool {
	number := func(to *float64) bool {
		n, err := strconv.ParseFloat(value, 64)
		*to = n
		return err == nil
	}
	count := func(to *int) bool {
		n, err := strconv.Atoi(value)
		*to = n
		return err == nil
	}
	flag := func(to *bool) bool {
		b, err := strconv.ParseBool(value)
		*to = b
		return err == nil
	}
	switch name {
	case "effort":
		o.Effort = value
		return true
	case "model":
		o.Model = value
		return true
	case "minutes":
		return number(&o.Minutes)
	case "max_cost_usd":
		return number(&o.MaxCost)
	case "max_calls":
		return count(&o.MaxCalls)
	case "max_tokens":
		return count(&o.MaxTokens)
	case "no_web":
		return flag(&o.NoWeb)
	case "no_memory":
		return flag(&o.NoMemory)
	case "plan_first":
		return flag(&o.PlanFirst)
	}
	return false
}
