package query

import "strings"

// rest says what is left to look for, and which words.
func (p *parser) rest() {
	var b strings.Builder
	end := -1 // of what is written
	for i := range p.list {
		t := &p.list[i]
		p.word(t, i)
		if t.uses&(operator|timed) != 0 || t.kind == mark && p.lonely(i) {
			continue
		}
		if end >= 0 && (t.space || end < t.start) && !p.is(i, ",.;:!?)") {
			b.WriteByte(' ')
		}
		b.WriteString(p.text[t.start:t.end])
		end = t.end
	}
	p.q.Text = strings.TrimLeft(strings.TrimSpace(b.String()), ",.;:!? ")
}

// lonely reports whether a sign has lost what it belongs to: a comma behind what was
// taken out, a second one, or one at the end.
func (p *parser) lonely(i int) bool {
	if !p.is(i, ",;:-'()") {
		return false
	}
	gone := func(k int) bool {
		return k < 0 || k >= len(p.list) || p.list[k].uses&(operator|timed) != 0
	}
	return gone(i-1) || gone(i+1)
}

// word adds a word of the query, if it says something.
func (p *parser) word(t *token, i int) {
	if t.kind == mark || t.uses&operator != 0 && t.uses&not == 0 {
		return
	}
	if marked := t.uses &^ timed; marked == 0 || marked == event {
		letter := len(t.text) == 1 && p.is(i+1, "'") && p.tight(i+1) || t.text == "s" && p.is(i-1, "'")
		if letter || contains(empty[p.lang], t.text) && !p.finding(i) || t.uses == timed && !p.dates(t.text) || p.whatever(t.text) {
			return
		}
	}
	p.q.Words = append(p.q.Words, Word{
		Text: p.text[t.start:t.end], Prefix: t.uses&prefix != 0, Must: t.uses&must != 0, Not: t.uses&not != 0, Time: t.uses&timed != 0, Event: t.uses&event != 0,
	})
}

// finding reports whether the word at i is what somebody did, though it mostly says
// how something is asked: "what did we find".
func (p *parser) finding(i int) bool {
	return p.lang == "en" && contains(asked, p.at(i).text) && contains(subjects, p.at(i-1).text) && p.at(i-2).text == "did"
}

var asked = strings.Fields("tell show find give")

// whatever reports whether a word asks for all that was at some time, which the query
// names: "what happened in March".
func (p *parser) whatever(w string) bool {
	return (!p.q.Time.IsZero() || p.q.Anchor != nil) && contains(happening[p.lang], w)
}

// happening has, by language, words that say no more than that something was.
var happening = map[string][]string{
	"en": strings.Fields("happen happens happened happening occur occurred occurring going went gone doing anything everything something stuff things up"),
	"de": strings.Fields("passiert passierte geschah geschehen los gemacht getan alles etwas war gab"),
	"fr": strings.Fields("passe passait arrive fait faisait tout"),
	"es": strings.Fields("paso pasaba pasado ocurrio hice hizo hicimos todo"),
}

// dates reports whether a word of an expression of time may stand in a text of that
// time: "March" and "2024" may, "last week" hardly.
func (p *parser) dates(w string) bool {
	for _, sense := range []string{senseMonth, senseSeason, senseHoliday, senseDecade} {
		if _, ok := p.lex[sense][w]; ok {
			return true
		}
	}
	n, _ := leading(w)
	return n > 31 || len(w) == 2 && (w[0] == 'q' || w[0] == 'h')
}

// empty has, by language, words that say how something is asked.
var empty = map[string][]string{
	"en": strings.Fields(`a an the of and or to in on at by for with from about as is are was were be been being am do does did done have has had having
		i me my mine we us our you your he him his she her it its they them their what which who whom whose where when why how that this these those there here
		will would shall should can could may might must not no so if than then too very just any some all tell show find give please know me ever`),
	"de": strings.Fields(`der die das den dem des ein eine einer einem einen eines und oder zu zum zur in im an am auf bei mit von vom fur uber ist sind war waren wird werden
		habe hast hat haben hatte hatten ich mir mich mein meine meinen meinem meiner wir uns unser unsere du dir dich er ihn ihm sie es ihr ihnen was wer wen wem wo wann warum wie
		welche welcher welches welchen nicht auch so dass als wenn da dort bitte zeig gib mal`),
	"fr": strings.Fields(`le la les l un une des du de d et ou a au aux en dans sur sous par pour avec est sont etait etaient ai as avons avez ont j je me m mon ma mes tu te t ton ta tes
		il elle on nous vous ils elles notre nos ce c cet cette ces que qu qui quoi quel quelle quels quelles ou quand comment pourquoi ne n pas plus se s y`),
	"es": strings.Fields(`el la los las un una unos unas de del y o a al en por para con sin es son era eran fue he has ha hemos han yo me mi mis tu te ti su sus se lo le les nos
		nuestro nuestra que quien quienes cual cuales cuanto cuando donde como no si este esta esto`),
}
