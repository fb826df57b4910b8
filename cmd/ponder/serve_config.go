package main

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"ponder/internal/auth"
	"ponder/internal/config"
	"ponder/internal/textkit"
)

// printConfig prints what is configured, a setting a line, without secrets. Behind each
// stands where it is set.
func (a *cli) printConfig(guard auth.Config) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", a.Settings.File)
	row := func(name string) {
		if value := a.Settings.Value(name); value != "" {
			fmt.Fprintf(&b, "%s = %s # %s\n", name, printed(name, value), a.Settings.Origin(name))
		}
	}
	for _, k := range config.Keys() {
		switch {
		case strings.Contains(k.Name, "*"):
			for _, name := range a.Settings.Names(k.Name) {
				row(name)
			}
		case k.Name == "serve.listen":
			fmt.Fprintf(&b, "serve.listen = %q # %s\n", a.Settings.Serve.Address(), a.Settings.Origin(k.Name))
		default:
			row(k.Name)
		}
	}
	for _, t := range guard.Tokens {
		var scopes []string
		for _, s := range t.Scopes {
			scopes = append(scopes, string(s))
		}
		slices.Sort(scopes)
		fmt.Fprintf(&b, "# token %s: owner %s, for %s\n", t.Name, t.Owner, strings.Join(scopes, ", "))
	}
	if len(guard.Tokens) == 0 {
		b.WriteString("# no token: whoever reaches this machine's own address may ask\n")
	}
	a.printf("%s", textkit.Clean(b.String()))
	return nil
}

// printed returns the value of a setting as it may be shown: of what lets somebody in
// somewhere, only that it is set.
func printed(name, value string) string {
	last := name[strings.LastIndexByte(name, '.')+1:]
	switch {
	case last == "hash":
		return `"set"`
	case last == "url" || last == "caldav" || last == "base_url": // whose paths may be keys
		if u, err := url.Parse(value); err == nil && u.Host != "" {
			return strconv.Quote(u.Scheme + "://" + u.Host + "/...")
		}
		return `"set"`
	}
	return config.Literal(name, value)
}
