package config

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// Text lists the settings with their sources, one a line, without secrets.
func (c *Config) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", c.File)
	row := func(name string) {
		if value := c.Value(name); value != "" {
			fmt.Fprintf(&b, "%s = %s # %s\n", name, displayValue(name, value), c.Origin(name))
		}
	}
	for _, k := range Keys() {
		switch {
		case strings.Contains(k.Name, "*"):
			for _, name := range c.Names(k.Name) {
				row(name)
			}
		case k.Name == "serve.listen":
			fmt.Fprintf(&b, "serve.listen = %q # %s\n", c.Serve.Address(), c.Origin(k.Name))
		default:
			row(k.Name)
		}
	}
	return b.String()
}

// displayValue returns a value for display. It hides secrets.
func displayValue(name, value string) string {
	last := name[strings.LastIndexByte(name, '.')+1:]
	switch {
	case last == "hash":
		return `"set"`
	case last == "url" || last == "caldav" || last == "base_url": // paths may be keys
		if u, err := url.Parse(value); err == nil && u.Host != "" {
			return strconv.Quote(u.Scheme + "://" + u.Host + "/...")
		}
		return `"set"`
	}
	return Literal(name, value)
}
