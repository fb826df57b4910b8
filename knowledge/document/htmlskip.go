package document

import "golang.org/x/net/html/atom"

// A skip is an element of a page that is left out, with what is open in it.
type skip struct {
	open    []string       // the elements, the one that is left out first
	count   map[string]int // of each name
	implied implied
}

// implied says how an element ends that has no end tag, which pages may leave out
// of some: where one of these begins, unless it is inside one of those, or where the
// element ends that it is in.
type implied struct{ by, inside map[atom.Atom]bool }

var (
	ofList  = implied{atoms(atom.Li), atoms(atom.Ul, atom.Ol, atom.Menu, atom.Dir)}
	ofTerms = implied{atoms(atom.Dt, atom.Dd), atoms(atom.Dl)}
	ofParts = implied{atoms(atom.Thead, atom.Tbody, atom.Tfoot), atoms(atom.Table)}
	ofRows  = implied{atoms(atom.Tr, atom.Thead, atom.Tbody, atom.Tfoot), atoms(atom.Table)}
	ofCells = implied{atoms(atom.Td, atom.Th, atom.Tr, atom.Thead, atom.Tbody, atom.Tfoot), atoms(atom.Table)}
	ofRuby  = implied{atoms(atom.Rt, atom.Rp, atom.Rb, atom.Rtc), atoms(atom.Ruby)}

	// optional has the elements whose end tags may be left out.
	optional = map[atom.Atom]implied{
		atom.P: {atoms(atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Center, atom.Dd, atom.Details, atom.Dialog,
			atom.Dir, atom.Div, atom.Dl, atom.Dt, atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer, atom.Form, atom.H1, atom.H2,
			atom.H3, atom.H4, atom.H5, atom.H6, atom.Header, atom.Hgroup, atom.Hr, atom.Li, atom.Main, atom.Menu, atom.Nav, atom.Ol,
			atom.P, atom.Pre, atom.Section, atom.Summary, atom.Table, atom.Td, atom.Th, atom.Tr, atom.Ul), atoms(atom.Button, atom.Object)},
		atom.Li: ofList, atom.Dt: ofTerms, atom.Dd: ofTerms,
		atom.Thead: ofParts, atom.Tbody: ofParts, atom.Tfoot: ofParts, atom.Tr: ofRows, atom.Td: ofCells, atom.Th: ofCells,
		atom.Option: {atoms(atom.Option, atom.Optgroup), atoms(atom.Select, atom.Datalist)},
		atom.Rt:     ofRuby, atom.Rp: ofRuby,
	}
)

func newSkip(name string, tag atom.Atom) *skip {
	s := &skip{count: map[string]int{}, implied: optional[tag]}
	s.push(name)
	return s
}

func (s *skip) push(name string) {
	s.open = append(s.open, name)
	s.count[name]++
}

// start takes in an element that begins, and reports whether what is left out has
// ended before it.
func (s *skip) start(name string, tag atom.Atom, closed bool) bool {
	if s.implied.by[tag] && !s.within() {
		return true
	}
	if !closed && !void[tag] {
		s.push(name)
	}
	return false
}

// within reports whether an element is open in which others of the kind stand.
func (s *skip) within() bool {
	for tag := range s.implied.inside {
		if s.count[tag.String()] > 0 {
			return true
		}
	}
	return false
}

// end takes in an end tag, and reports whether what is left out has ended: with it,
// or, if it is the end of what that is in, before it.
func (s *skip) end(name string, tag atom.Atom) (with, before bool) {
	if s.count[name] == 0 {
		return false, s.implied.by != nil && !void[tag] && tag != atom.P && (!inText[tag] || tag == atom.Ruby)
	}
	for {
		last := s.open[len(s.open)-1]
		s.open = s.open[:len(s.open)-1]
		s.count[last]--
		if last == name {
			return len(s.open) == 0, false
		}
	}
}
