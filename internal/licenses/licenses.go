// Package licenses contains the licenses of Ponder and of the components in its program.
//
// scripts/licences --write makes licenses.txt.gz from the modules of the build. Form feeds
// separate its sections. A section has a line "NAME VERSION: LICENSES" for each component, an
// empty line, and the text of a file that these components share.
package licenses

import (
	"bytes"
	"compress/gzip"
	_ "embed" // for the texts
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

//go:embed licenses.txt.gz
var compressed []byte

// A Section is the text of a file, with the components that have it.
type Section struct {
	Components []Component
	Text       string
}

// A Component is Ponder or a part of its program. Version is empty for parts without one.
type Component struct {
	Name     string   `json:"name"`
	Version  string   `json:"version,omitempty"`
	Licenses []string `json:"licenses"` // or the name of a file that is no license, such as NOTICE
	Texts    []string `json:"texts"`
}

// Sections returns all texts. Ponder's own are the first.
func Sections() ([]Section, error) {
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, fmt.Errorf("read licenses: %w", err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read licenses: %w", err)
	}
	var list []Section
	for part := range strings.SplitSeq(strings.TrimSuffix(string(text), "\f\n"), "\f\n") {
		head, body, ok := strings.Cut(part, "\n\n")
		if !ok {
			return nil, fmt.Errorf("read licenses: no text below %.60q", part)
		}
		s := Section{Text: strings.TrimRight(body, "\n") + "\n"}
		for line := range strings.SplitSeq(head, "\n") {
			id, names, _ := strings.Cut(line, ": ")
			c := Component{Name: id, Licenses: strings.Split(names, ", ")}
			if m := versioned.FindStringSubmatch(id); m != nil {
				c.Name, c.Version = m[1], m[2]
			}
			s.Components = append(s.Components, c)
		}
		list = append(list, s)
	}
	return list, nil
}

// versioned matches the name of a module with its version.
var versioned = regexp.MustCompile(`^(\S+) (v[0-9]\S*)$`)

// Components returns each component once, with all its licenses and texts.
func Components(sections []Section) (list []Component) {
	for _, s := range sections {
		for _, c := range s.Components {
			i := slices.IndexFunc(list, func(have Component) bool { return have.Name == c.Name && have.Version == c.Version })
			if i < 0 {
				i, list = len(list), append(list, Component{Name: c.Name, Version: c.Version})
			}
			for _, name := range c.Licenses {
				if !slices.Contains(list[i].Licenses, name) {
					list[i].Licenses = append(list[i].Licenses, name)
				}
			}
			list[i].Texts = append(list[i].Texts, s.Text)
		}
	}
	return list
}
