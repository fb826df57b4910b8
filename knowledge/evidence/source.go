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
