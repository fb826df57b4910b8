package report

// confidence writes the chart as a picture.
func (p *page) confidence() {
	if p.doc.Chart == nil {
		return
	}
	p.section("confidence", "Confidence over time", func() {
		c, words := p.doc.Chart, p.doc.Chart.words()
		p.put(`
<figure>
<svg viewBox="0 0 %d %d" role="img" aria-labelledby="chart-title chart-words">
<title id="chart-title">Confidence over time</title>
<desc id="chart-words">%s</desc>
`, pictureWidth, pictureHeight, words)
		p.axes(c)
		p.dots(c)
		p.curve(c)
		p.put(`
</svg>
<figcaption>The line is what was claimed each time understanding was summed up; the faint dots are single thoughts. %s</figcaption>
</figure>`, words)
	})
}

func (p *page) axes(c *chart) {
	p.put(`<g class="grid">`)
	for _, v := range c.values() {
		p.put(`<line x1="%d" x2="%d" y1="%s" y2="%s"/><text x="%d" y="%s" dy="4" text-anchor="end">%s</text>`,
			marginLeft, pictureWidth-marginRight, v.at, v.at, marginLeft-8, v.at, v.label)
	}
	p.put("</g>\n" + `<g class="times">`)
	for _, t := range c.times() {
		p.put(`<text x="%s" y="%d" text-anchor="middle">%s</text>`, t.at, pictureHeight-12, t.label)
	}
	p.put("</g>\n")
}

func (p *page) dots(c *chart) {
	p.put(`<g class="dots">`)
	for _, d := range c.Dots {
		p.put(`<circle cx="%s" cy="%s" r="2.3"/>`, c.x(d.At), c.y(d.Value))
	}
	p.put("</g>\n")
}

func (p *page) curve(c *chart) {
	p.put(`<path class="area" d="%s"/>`+"\n"+`<path class="line" d="%s"/>`+"\n"+`<g class="points">`, c.area(), c.line())
	for _, q := range c.Points {
		radius := "3.5"
		if q.Final {
			radius = "5.5"
		}
		p.put(`<circle cx="%s" cy="%s" r="%s"><title>%s at %s</title></circle>`, c.x(q.At), c.y(q.Value), radius, two(q.Value), clock(q.At))
	}
	p.put("</g>\n"+`<text class="last" x="%s" y="%s" text-anchor="end">%s</text>`, c.x(c.Last.At), c.labelY(), two(c.Last.Value))
}
