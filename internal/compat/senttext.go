package compat

import (
	"net/http"

	"ponder"
)

// A sentText is the text that was sent to a client who keeps all of it. What follows it in
// an answer that begins anew goes on to tell, and nothing else.
type sentText struct {
	tell func(Part)
	text []byte
	at   int // so much of it the answer has
}

// errAnew is why no more of an answer is sent.
var errAnew error = &Fault{
	Status: http.StatusBadGateway,
	Detail: "the answer broke off and was begun anew in other words, and what was sent cannot be taken back: ask again, or without streaming, to have it whole",
}

// part takes in a part. Of text that begins anew, it tells what is more than was sent.
func (s *sentText) part(p Part) error {
	switch p.Kind {
	case Text:
		if p.Again {
			s.at, p.Again = 0, false
		}
		n := min(len(s.text)-s.at, len(p.Text))
		if string(s.text[s.at:s.at+n]) != p.Text[:n] {
			return errAnew
		}
		p.Text = p.Text[n:]
		s.text = append(s.text, p.Text...)
		if s.at += n + len(p.Text); p.Text == "" {
			return nil
		}
	case TextEnd:
		if err := s.whole(); err != nil {
			return err
		}
	}
	s.tell(p)
	return nil
}

// whole returns an error if more was sent than the answer has.
func (s *sentText) whole() error {
	if s.at < len(s.text) {
		return errAnew
	}
	return nil
}

// end returns why it is not told that a work has ended so. A failure says more than that
// the answer was begun anew.
func (s *sentText) end(e End) error {
	if e.Status != ponder.Completed {
		return nil
	}
	return s.whole()
}
