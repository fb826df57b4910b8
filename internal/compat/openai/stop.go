package openai

import "strings"

// A stopCutter ends a text before the first of some texts. It holds back text that may begin one.
type stopCutter struct {
	stops []string
	held  string
	done  bool
}

// add returns the text to send.
func (c *stopCutter) add(text string) string {
	if c.done {
		return ""
	}
	c.held += text
	end, last := -1, 0
	for _, stop := range c.stops { // the first complete one, as if text came byte by byte
		i := strings.Index(c.held, stop)
		if at := i + len(stop); stop != "" && i >= 0 && (end < 0 || at < last || at == last && i < end) {
			end, last = i, at
		}
	}
	if end >= 0 {
		c.done = true
	} else {
		end = len(c.held) - c.openLength()
	}
	out := c.held[:end]
	c.held = c.held[end:]
	return out
}

// openLength returns the length of the longest end of held that begins a stop text.
func (c *stopCutter) openLength() (longest int) {
	for _, stop := range c.stops {
		for n := min(len(stop)-1, len(c.held)); n > longest; n-- {
			if strings.HasSuffix(c.held, stop[:n]) {
				longest = n
			}
		}
	}
	return longest
}

// takeRest returns the held text at the end of the answer.
func (c *stopCutter) takeRest() (rest string) {
	if !c.done {
		rest = c.held
	}
	c.held = ""
	return rest
}
