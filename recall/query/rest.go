package query

// rest says what is left to look for, and its words.
func (p *parser) rest()      { p.q.Text = p.text }
func (p *parser) operators() {}
func (p *parser) anchors()   {}
func (p *parser) people()    {}
func (p *parser) classify()  { p.q.Class = Fact }
