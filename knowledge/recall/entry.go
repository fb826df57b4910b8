package recall

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"ponder/internal/textkit"
	"ponder/internal/textkit/lexical"
	"ponder/knowledge/document"
	"ponder/knowledge/recall/index"
)

// An entry is an item on its way into the Library.
type entry struct {
	item     Item
	identity string // what makes it the same item when it comes again
	sum      string // of all that is said of it
	said     string // the text as it was given, if it was
	doc      *document.Document
	turns    []turn   // who speaks, if somebody does
	named    []string // who else has to do with it
	index    index.Doc
}

// A turn is from where on somebody speaks.
type turn struct {
	start   int
	speaker string
}

// maxNames is the most names that an item is found by.
const maxNames = 64

// complete fills in what follows from the item and its text. The number and the
// id are given later.
func (e *entry) complete(owner string) {
	it := e.item.bounded()
	it.Owner, it.Hash, it.Size = owner, e.doc.Hash, len(e.doc.Text)
	e.index = index.Doc{
		Owner: owner, Kind: string(it.Kind), Source: it.Source, Tags: it.Tags, Date: it.Date, Title: e.searched(it),
		Names: e.names(it), Language: lexical.Language(e.doc.Language), Passages: cut(e.doc, e.turns),
	}
	if it.Persona != "" {
		e.index.Tags = append(append([]string(nil), it.Tags...), personaTag+it.Persona)
	}
	it.Passages = len(e.index.Passages)
	e.item = it
	if e.identity == "" {
		e.identity = e.identify()
	}
	e.sum = e.summed()
}

// personaTag is before the name of a persona where it is a tag of the index.
const personaTag = "persona:"

// searched returns what an item is called, for the index: its title, and what
// its file and the folder of it are called.
func (e *entry) searched(it Item) string {
	if it.Path == "" {
		return it.Title
	}
	base := filepath.Base(it.Path)
	base = strings.TrimSuffix(base, filepath.Ext(base))
	title := it.Title
	if !strings.Contains(title, base) {
		title += " " + base
	}
	return title + " " + filepath.Base(filepath.Dir(it.Path))
}

// names returns who has to do with an item.
func (e *entry) names(it Item) []string {
	var names []string
	seen := map[string]bool{"": true}
	add := func(n string) {
		if !seen[n] && len(names) < maxNames {
			seen[n] = true
			names = append(names, n)
		}
	}
	add(it.Author)
	for _, t := range e.turns {
		add(t.speaker)
	}
	for _, n := range e.named {
		add(textkit.PrefixLine(n, maxField))
	}
	return names
}

// identify returns what makes an item the same when it comes again: its id in
// its source if it has one, or else what it says.
func (e *entry) identify() string {
	it := e.item
	switch {
	case it.Path != "":
		return hashOf("file", it.Path, it.Part)
	case it.ExternalID != "":
		return hashOf("id", string(it.Kind), it.Persona, it.Source, it.ExternalID)
	}
	return hashOf("text", string(it.Kind), it.Persona, it.Hash)
}

// summed returns a hash of an item but for its id, its number and when it came.
func (e *entry) summed() string {
	it := e.item
	it.ID, it.num = "", 0
	it.Added = it.Added.Truncate(0)
	meta, err := json.Marshal(it.Meta) // in the order of the keys
	if err != nil {
		meta = nil
	}
	return hashOf(e.identity, string(it.Kind), it.Persona, it.Title, e.said, it.Raw, it.Source, it.ExternalID, it.Link, it.Author,
		strings.Join(it.Tags, "\x00"), it.Date.UTC().String(), it.Hash, speakers(e.turns), string(meta))
}

func speakers(turns []turn) string {
	var b strings.Builder
	for _, t := range turns {
		b.WriteString(t.speaker)
		b.WriteByte(0)
	}
	return b.String()
}

// number gives the entry its number.
func (e *entry) number(n int64) {
	e.item.num, e.index.ID = n, n
}
