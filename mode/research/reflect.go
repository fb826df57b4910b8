package research

import (
	_ "embed" // for the prompts
	"errors"
	"slices"
	"strings"

	"ponder/internal/textkit"
	"ponder/internal/textkit/similarity"
	"ponder/llm"
	"ponder/llm/structured"
)

//go:embed prompts/reflect.md
var reflectPrompt string

const (
	reflectTokens = 1000
	maxWhy        = 600
	maxAskedShown = 40
)

type reflection struct {
	Enough bool     `json:"enough,omitempty"`
	Why    string   `json:"why,omitempty"`
	Web    []string `json:"web,omitempty"`
	Memory []string `json:"memory,omitempty"`
}

// reflectForm is the schema of a reflection. reflect.md names its fields.
type reflectForm struct {
	Why    string   `json:"why" bounds:"3" labels:"reason,missing,gaps,explanation"`
	Enough *bool    `json:"enough" labels:"sufficient,is enough"`
	Web    []string `json:"webQueries" bounds:"0,3" labels:"web,web query,search queries"`
	Memory []string `json:"memoryQueries" bounds:"0,3" labels:"memory,memory query,document queries"`
}

// reflectAnswer also accepts queries for any search.
type reflectAnswer struct {
	reflectForm
	Queries []string `json:"queries,omitempty" labels:"query,new queries,next queries"`
}

var (
	reflectSchema = llm.SchemaFor[reflectForm]("research_reflection")
	reflectReader = structured.New[reflectAnswer](reflectSchema)
)

// reflectCall asks for gaps in the evidence and lists earlier queries.
func (s *state) reflectCall() llm.Request {
	var b strings.Builder
	s.writeQuestion(&b)
	b.WriteString("\n" + s.evidencePack())
	writeList(&b, "\nThe plan:\n", s.Plan.Steps)
	writeList(&b, "\nTerms that matter:\n", s.Plan.Terms)
	asked := s.askedQueries()
	writeList(&b, "\nQueries that were asked already:\n", asked[max(0, len(asked)-maxAskedShown):])
	return s.newRequest(&b, reflectPrompt, reflectSchema, reflectTokens)
}

func writeList(b *strings.Builder, title string, list []string) {
	for i, s := range list {
		if i == 0 {
			b.WriteString(title)
		}
		b.WriteString("- " + escapeFrame(textkit.TruncateBytes(textkit.OneLine(s), maxItem)) + "\n")
	}
}

func compareWeight(a, b piece) int {
	switch x, y := a.weight(), b.weight(); {
	case x > y:
		return -1
	case x < y:
		return 1
	}
	return a.N - b.N
}

// readReflection parses a reflection. If Enough is missing, it is true without queries.
func readReflection(answer string) (reflection, error) {
	f, _ := reflectReader.Read(answer)
	r := reflection{Why: textkit.TruncateBytes(textkit.OneLine(f.Why), maxWhy), Web: cleanQueries(f.Web), Memory: cleanQueries(f.Memory)}
	if all := cleanQueries(f.Queries); len(r.Web)+len(r.Memory) == 0 {
		r.Web, r.Memory = all, slices.Clone(all)
	}
	asks := len(r.Web)+len(r.Memory) > 0
	if f.Enough == nil && !asks && r.Why == "" {
		return reflection{}, errors.New("there is neither enough nor a query in the answer")
	}
	r.Enough = !asks && f.Enough == nil || f.Enough != nil && *f.Enough
	if r.Enough {
		r.Web, r.Memory = nil, nil
	}
	return r, nil
}

// dropRepeated returns r without queries that repeat earlier ones in meaning.
func (r reflection) dropRepeated(asked []string) reflection {
	var said []similarity.Text
	for _, q := range asked {
		said = append(said, similarity.Parse(q))
	}
	known := func(q string) bool {
		_, v := similarity.Nearest(said, similarity.Parse(q))
		return v == similarity.Same || isRepeated(asked, q)
	}
	r.Web, r.Memory = slices.DeleteFunc(slices.Clone(r.Web), known), slices.DeleteFunc(slices.Clone(r.Memory), known)
	return r
}
