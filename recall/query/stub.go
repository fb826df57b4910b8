package query

import "time"

type parser struct {
	q    Query
	text string
	now  time.Time
}

func newParser(text string, now time.Time) *parser {
	return &parser{q: Query{Class: Fact, Text: text}, text: text, now: now}
}
func (p *parser) operators() {}
func (p *parser) times()     {}
func (p *parser) anchors()   {}
func (p *parser) people()    {}
func (p *parser) rest()      {}
func (p *parser) classify()  {}
