package evidence

import (
	_ "embed"
	"ponder/internal/textkit"
	"strconv"
	"strings"

	"ponder"
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
