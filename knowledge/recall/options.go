package recall

import (
	"encoding/json"
	"strings"
	"time"

	"ponder/knowledge/document"
)

// chosen are the options that a file was taken with. What is not given the next
// time stays as it was, be it that the file is named or that a folder it is in is:
// to take a file without its tags, forget it before.
type chosen struct {
	Kind    Kind       `json:"kind,omitempty"`
	Tags    []string   `json:"tags,omitempty"`
	Persona string     `json:"persona,omitempty"`
	Date    *time.Time `json:"date,omitempty"`
	Source  string     `json:"source,omitempty"`
}

// choose returns what a file is taken with now.
func (o IngestOptions) choose(before file) chosen {
	var c chosen
	if json.Unmarshal([]byte(before.options), &c) != nil {
		c = chosen{}
	}
	c.Kind, c.Persona, c.Source = Kind(dflt(string(o.Kind), string(c.Kind))), dflt(o.Persona, c.Persona), dflt(o.Source, c.Source)
	if len(o.Tags) > 0 {
		c.Tags = o.Tags
	}
	if !o.Date.IsZero() {
		date := o.Date.UTC()
		c.Date = &date
	}
	return c
}

// json returns what is stored of the options.
func (c chosen) json() string {
	b, err := json.Marshal(c)
	if err != nil {
		return "" // strings and times always can be
	}
	return string(b)
}

func (c chosen) date() time.Time {
	if c.Date == nil {
		return time.Time{}
	}
	return *c.Date
}

// settings returns a hash of what the entries of a file depend on beside its
// bytes.
func (c chosen) settings() string {
	return hashOf(version, string(c.Kind), strings.Join(c.Tags, "\x00"), c.Persona, c.date().String(), c.Source)[:16]
}

// base returns what all items of a file have.
func (c chosen) base(f document.File) Item {
	return Item{Kind: c.Kind, Persona: c.Persona, Tags: c.Tags, Date: c.date(), Source: f.Path, Path: f.Path, from: c.Source}
}
