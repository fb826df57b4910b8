// Package evidence rates evidence and explains the rating. [Judge] returns the signals
// of one piece, [Cluster] finds copies, [Corroborate] counts agreeing sources, and
// [Weight] combines signals into one number.
//
// Every [ponder.Signal] has a sentence with its observation, and the weight depends on
// signals alone. Signals are outside estimates: they rate a claim before it is
// checked, and do not decide its truth.
//
// # The signals
//
//	source         the kind of source, by host (sources.txt) or kind of item
//	date           whether it is dated, and its age
//	author         whether a named author is responsible
//	directness     own work, reports of others, or hearsay, by its words
//	transport      pages: encrypted, so unchanged on the way
//	advertising    only if the text sells something
//	addressed      only if the text addresses a program that reads it
//	corroboration  the number of independent sources that agree or disagree
//
// # The weight
//
// A weight is the product of 1 - s(1-v) over the signals, where v is the signal's
// value and s its share:
//
//	source 0.6   directness 0.3   corroboration 0.3   date 0.2   author 0.15
//	transport 0.05   advertising 0.5   addressed 0.8
//
// Other signals have no share. The shares are chosen, not measured.
//
// # Copies
//
// MinHash (Broder, 1997) with 64 hashes compares runs of three words. A copy of 80
// words or more may differ in a fifth of its words; independent texts on one subject
// share almost no runs. A copied sentence may hardly differ, because sentences can be
// alike by chance. TestCopies measures both.
//
// For excerpts, the share of the shorter text's runs that the longer one has counts
// too, among the least 1,024 hashes of each: over half for long texts, four in five
// for sentences. Pass quotes or main texts: a site's template makes copies only where
// it is most of the text. TestClustersOfArticles and TestClustersOfPassages measure
// precision and recall on edited copies.
//
// All functions are pure, deterministic, safe for concurrent use, and read at most 32
// KiB of a text.
package evidence

import (
	_ "embed"
	"net/url"
	"strconv"
	"strings"

	"ponder"
	"ponder/internal/textkit"
)

//go:embed sources.txt
var sourcesText string

type class struct {
	name        string
	value       float64
	description string
	domains     []string
}

var classes = readClasses(sourcesText)

func readClasses(text string) (list []class) {
	for line := range strings.Lines(text) {
		part := strings.Split(line, "|")
		if len(part) != 3 {
			continue
		}
		name, number, _ := strings.Cut(strings.TrimSpace(part[0]), " ")
		value, err := strconv.ParseFloat(number, 64)
		if err != nil {
			continue
		}
		list = append(list, class{name, value, strings.TrimSpace(part[1]), strings.Fields(part[2])})
	}
	return list
}

var userClasses = map[string]class{
	"memory":   {value: 0.75, description: "an item of your memory"},
	"journal":  {value: 0.75, description: "an entry of your journal"},
	"document": {value: 0.7, description: "a document in your memory"},
	"post":     {value: 0.5, description: "a post in your memory"},
	"thread":   {value: 0.55, description: "the result of an earlier session, not an independent source"},
}

var hostParts = []class{
	{"forum", 0.4, "a page of a forum, where anyone may write", []string{"forum.", "forums.", "community.", "discuss.", "answers.", "boards."}},
	{"documentation", 0.75, "a page of official documentation", []string{"docs.", "doc.", "developer.", "developers.", "documentation."}},
	{"shop", 0.35, "a page of a shop", []string{"shop.", "store."}},
	{"blog", 0.45, "a page of a blog", []string{"blog.", "blogs."}},
}

var pathParts = []class{
	{"shop", 0.35, "a page of a shop", []string{"/product/", "/products/", "/cart", "/shop/", "/checkout"}},
	{"forum", 0.4, "a page of a forum, where anyone may write", []string{"/forum/", "/forums/", "/viewtopic", "/showthread"}},
	{"blog", 0.45, "a page of a blog", []string{"/blog/", "/blogs/"}},
}

func sourceSignal(p Piece) ponder.Signal {
	a, ok := parseAddress(p.URL)
	if !ok {
		a, ok = parseAddress(p.Source)
	}
	c := class{value: 0.5, description: "a source of unknown kind"}
	if kept, is := userClasses[p.Kind]; is && (!ok || p.Kind == "post" || p.Kind == "thread") {
		c = kept
	} else if ok && a.isPlaceholder() {
		c.description = "a saved page without its address"
	} else if ok {
		c = classifyAddress(a)
		c.description += " (" + textkit.Line(a.host, maxName) + ")"
	} else if p.Source != "" && p.Kind == "" {
		c = userClasses["document"]
	}
	return ponder.Signal{Name: "source", Value: c.value, Description: "It is " + c.description + "."}
}

func classifyAddress(a address) class {
	for _, c := range classes {
		for _, d := range c.domains {
			if isSubdomain(a.host, d) {
				return c
			}
		}
	}
	for _, c := range hostParts {
		for _, part := range c.domains {
			if strings.HasPrefix(a.host, part) {
				return c
			}
		}
	}
	for _, c := range pathParts {
		for _, part := range c.domains {
			if strings.Contains(a.path+"/", part) {
				return c
			}
		}
	}
	return class{value: 0.5, description: "a page of an unknown site"}
}

// An address identifies a page.
type address struct {
	host   string // lower case, without www
	path   string // without trailing slash
	query  string
	secure bool
}

func parseAddress(raw string) (a address, ok bool) {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return a, false
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	return address{
		host: strings.TrimPrefix(host, "www."), path: strings.TrimRight(u.EscapedPath(), "/"), query: u.RawQuery, secure: u.Scheme == "https",
	}, true
}

func (a address) pageKey() string { return a.host + a.path + "?" + a.query }

// isPlaceholder reports whether the address is a placeholder: no host ends in .invalid (RFC
// 2606).
func (a address) isPlaceholder() bool { return strings.HasSuffix(a.host, ".invalid") }

// isSubdomain reports whether host is domain or a subdomain. A domain with a leading dot is
// a suffix.
func isSubdomain(host, domain string) bool {
	return host == domain || strings.HasSuffix(host, domain) && (domain[0] == '.' || strings.HasSuffix(host, "."+domain))
}

// siteDomain returns the registered domain: two labels, or three under national second
// levels ("co.uk").
func siteDomain(host string) string {
	parts := strings.Split(host, ".")
	n := 2
	if k := len(parts); k > 2 && len(parts[k-1]) == 2 {
		switch parts[k-2] {
		case "co", "com", "org", "net", "gov", "gob", "gouv", "govt", "ac", "edu", "or", "ne", "go", "nhs":
			n = 3
		}
	}
	return strings.Join(parts[max(0, len(parts)-n):], ".")
}
