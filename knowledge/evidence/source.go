// Package evidence says how good a piece of evidence is, and why: [Judge] looks at
// one, [Cluster] finds copies, [Corroborate] counts who says the same, and [Weight]
// makes one number of it.
//
// Nothing is hidden: each signal is a [ponder.Signal] with a sentence that says what
// was seen, and the weight follows from the signals alone. Signals are guesses from
// the outside. A good source may be wrong, so they say how much a claim is worth
// before it is checked, not whether it is true.
//
// # The signals
//
//	source         the kind of source, by its host (sources.txt) or by what kind of item it is
//	date           whether it is dated, and how old it is
//	author         whether somebody stands for it by name
//	directness     whether its words speak of its own work, or of what others say
//	transport      of a page: whether it came encrypted, so that nobody changed it on its way
//	advertising    only where its words sell something
//	addressed      only where its words are meant for a program that reads it
//	corroboration  how many independent sources say the same, or the opposite
//
// # The weight
//
// A weight is the product of 1 - s(1-v) over the signals, where v is the value of the
// signal and s the share that it may take away:
//
//	source 0.6   directness 0.3   corroboration 0.3   date 0.2   author 0.15
//	transport 0.05   advertising 0.5   addressed 0.8
//
// Signals of other names take nothing away. The shares are a choice, not a
// measurement.
//
// # Copies
//
// Texts are compared by runs of three words, with MinHash (Broder, 1997) of 64 hashes.
// Of a text of 80 words or more a fifth of the words may be changed; texts that merely
// share a subject have hardly a run in common. Of a sentence hardly a word may be
// changed, for sentences may be alike that nobody copied. TestCopies measures it.
//
// A part that was cut out of a text has little in common with all of it, so the runs of
// the shorter text that the other has count as well: of the least 1,024 hashes of each,
// more than half of those of a long part, and four in five of those of a sentence. What
// pages of one site have in common makes them copies only where it is most of the text:
// pass quotes, or the main text of pages. TestClustersOfArticles and TestClustersOfPassages
// measure precision and recall on copies that are cut, dated, signed and quoted otherwise.
//
// Everything is pure, deterministic, safe for concurrent use, and bounded: of a text
// the first 32 KiB are read.
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

// A class is a kind of source.
type class struct {
	name    string
	value   float64
	says    string
	domains []string
}

// classes are the kinds of sources, in the order in which they are tried.
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

// own has what is said of what a user keeps, by its kind.
var own = map[string]class{
	"memory":   {value: 0.75, says: "something that you had remembered"},
	"journal":  {value: 0.75, says: "a note of your journal"},
	"document": {value: 0.7, says: "a document that you keep"},
	"post":     {value: 0.5, says: "a post that you saved"},
	"thread":   {value: 0.55, says: "what an earlier session came to, which is no source of its own"},
}

// forumParts begin the hosts of forums, documentation and shops of any maker.
var hostParts = []class{
	{"forum", 0.4, "a page of a forum, where anybody may write", []string{"forum.", "forums.", "community.", "discuss.", "answers.", "boards."}},
	{"documentation", 0.75, "a page of the makers' own documentation", []string{"docs.", "doc.", "developer.", "developers.", "documentation."}},
	{"shop", 0.35, "a page of a shop", []string{"shop.", "store."}},
	{"blog", 0.45, "a page of somebody's blog", []string{"blog.", "blogs."}},
}

// pathParts are of paths of shops and forums.
var pathParts = []class{
	{"shop", 0.35, "a page of a shop", []string{"/product/", "/products/", "/cart", "/shop/", "/checkout"}},
	{"forum", 0.4, "a page of a forum, where anybody may write", []string{"/forum/", "/forums/", "/viewtopic", "/showthread"}},
	{"blog", 0.45, "a page of somebody's blog", []string{"/blog/", "/blogs/"}},
}

// source judges the kind of source.
func source(p Piece) ponder.Signal {
	a, ok := addressOf(p.URL)
	if !ok {
		a, ok = addressOf(p.Source)
	}
	c := class{value: 0.5, says: "a source of a kind that is not known"}
	if kept, is := own[p.Kind]; is && (!ok || p.Kind == "post" || p.Kind == "thread") {
		c = kept
	} else if ok && a.nowhere() {
		c.says = "a page that was saved, and it is not known where"
	} else if ok {
		c = classOf(a)
		c.says += " (" + textkit.Line(a.host, maxName) + ")"
	} else if p.Source != "" && p.Kind == "" {
		c = own["document"]
	}
	return ponder.Signal{Name: "source", Value: c.value, Says: "It is " + c.says + "."}
}

// classOf returns the kind of source that a page is.
func classOf(a address) class {
	for _, c := range classes {
		for _, d := range c.domains {
			if under(a.host, d) {
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
	return class{value: 0.5, says: "a page of a site of which nothing is known"}
}

// An address is where a page is, as far as pages are told apart by it.
type address struct {
	host   string // lower case, without www
	path   string // without a slash at the end
	query  string
	secure bool
}

// addressOf reads the address of a page, and says whether it is one. Fragments do not
// count, and http and https are one.
func addressOf(raw string) (a address, ok bool) {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return a, false
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	return address{
		host: strings.TrimPrefix(host, "www."), path: strings.TrimRight(u.EscapedPath(), "/"), query: u.RawQuery, secure: u.Scheme == "https",
	}, true
}

// page names the page, the same for all places in it.
func (a address) page() string { return a.host + a.path + "?" + a.query }

// nowhere reports whether the address stands for a page whose own is not known: no
// host can have such a name (RFC 2606).
func (a address) nowhere() bool { return strings.HasSuffix(a.host, ".invalid") }

// under reports whether a host is a domain, or below it. A domain that begins with a
// dot is the end of one.
func under(host, domain string) bool {
	return host == domain || strings.HasSuffix(host, domain) && (domain[0] == '.' || strings.HasSuffix(host, "."+domain))
}

// site returns the domain that somebody registered: the last two parts of a host, or
// three where a country has parts of its own ("co.uk").
func site(host string) string {
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
