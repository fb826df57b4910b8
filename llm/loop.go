package llm

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// A LoopDetector finds the place from which a streamed text only repeats itself. It counts a
// text as a loop if its end is
//
//   - one unit, written exactly again and again,
//   - a few sentences, lines or JSON strings, again and again in any order,
//   - list items without text, or sentences in which only numbers count up, or
//   - white space without end.
//
// Tables, code, refrains, lists with a common prefix and JSON with the same keys are no
// loops. The time is linear in the text, and the memory is constant. The result does not
// depend on how the text is cut into pieces. The zero value is ready.
type LoopDetector struct {
	size   int // bytes so far
	found  bool
	cut    int // start of the repetition, if found
	fence  bool
	line   [3]byte // the first bytes of the line
	column int     // bytes in the line
	spaces int     // white space at the end

	period  period
	segment segment
	recent  []segment // oldest first
	fences  int       // lines of fences in a row, without text between them
	fenceAt int       // start of the first of them
	onFence bool      // this line is a fence
	empty   int       // list items without text in a row
	emptyAt int       // start of the first of them
	counted counter
	partial string // an incomplete rune at the end of the last piece
}

// detectors recycles detectors, which are large and needed for each answer.
var detectors = sync.Pool{New: func() any { return new(LoopDetector) }}

// NewLoopDetector returns a detector. The caller may release it.
func NewLoopDetector() *LoopDetector { return detectors.Get().(*LoopDetector) }

// Release recycles a detector, which the caller must not use again. It may be nil.
func (d *LoopDetector) Release() {
	if d == nil {
		return
	}
	*d = LoopDetector{recent: d.recent[:0]}
	detectors.Put(d)
}

// Limits of exact repetition, in bytes.
const (
	loopWindow   = 8 << 10 // memory
	maxPeriod    = loopWindow / 2
	gramSize     = 12
	gramBits     = 11
	gramSlots    = 1 << gramBits
	maxSpaces    = 400
	minLoop      = 200  // repeated text with words
	minShortLoop = 300  // of units below shortUnit, such as "no, "
	minPlainLoop = 2000 // of numbers and signs: rules, tables, matrices
	minRule      = 600  // of one or two signs without end
	shortUnit    = 16
	fenceFactor  = 8 // for code
)

// Factors of the rolling hash of a gram: hashOut is hashBase to the power of gramSize.
const (
	hashBase   uint32 = 69069
	hashOut    uint32 = hashPower4 * hashPower4 % (1 << 32) * hashPower4 % (1 << 32)
	hashPower4        = 69069 * 69069 % (1 << 32) * 69069 % (1 << 32) * 69069 % (1 << 32)
)

// A period tracks the smallest distance at which the text equals itself.
type period struct {
	window [loopWindow]byte
	last   [gramSlots]int32 // newest end of a gram, by hash; 0: none
	hash   uint32           // of the newest gram
	length int              // 0: none
	run    int              // bytes that equal those one period before
	needed int              // run that makes a loop; 0: not known yet
}

// Limits of repeated segments.
const (
	minLoopSegment = 24 // letters of the longest
	loopRounds     = 6  // appearances of each segment
	maxLoopSet     = 8  // distinct segments
	maxSegments    = loopRounds*maxLoopSet + maxLoopSet
	maxEmptyItems  = 8
	maxCounted     = 20
	maxNumbers     = 4
)

// A counter counts segments in a row in which each number grows by the same step.
type counter struct {
	last  segment
	steps [maxNumbers]int
	n     int // segments with these steps
	start int // of the first of them
}

// A segment is a line, a sentence or a JSON string.
type segment struct {
	begun   bool
	start   int
	hash    uint64 // of its letters and digits
	letters int
	digits  int    // at its start, as of a list item
	words   uint64 // hash of its letters
	numbers [maxNumbers]int
	count   int  // of numbers
	within  bool // a number
	item    bool // it begins with the number or bullet of a list item
	ender   bool // the last rune may end a sentence
	mark    bool // it begins with a bracket
}

// maxListDigits limits the number of a list item. Longer numbers, such as years, are text.
const maxListDigits = 3

// Add adds a piece of text. It returns the byte offset from which the text repeats itself,
// and whether there is one. Later pieces do not change it.
func (d *LoopDetector) Add(text string) (cut int, found bool) {
	if d.found {
		return d.cut, true
	}
	if d.partial != "" {
		text, d.partial = d.partial+text, ""
	}
	whole := len(text)
	for n := 1; n < utf8.UTFMax && n <= whole; n++ {
		if tail := text[whole-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRuneInString(tail) {
				d.partial = tail
				text = text[:whole-n]
			}
			break
		}
	}
	for len(text) > 0 && !d.found {
		r, n := utf8.DecodeRuneInString(text)
		for i := range n {
			d.addByte(text[i])
		}
		d.addRune(r, n)
		text = text[n:]
	}
	return d.cut, d.found
}

func (d *LoopDetector) markFound(cut int) {
	if !d.found {
		d.found, d.cut = true, max(0, cut)
	}
}

// addByte extends the exact repetition.
func (d *LoopDetector) addByte(b byte) {
	p := &d.period
	if p.length > 0 && p.window[(d.size-p.length)%loopWindow] == b {
		p.run++
	} else {
		p.length, p.run = 0, 0
	}
	p.hash = p.hash*hashBase + uint32(b)
	if d.size >= gramSize {
		p.hash -= hashOut * uint32(p.window[(d.size-gramSize)%loopWindow])
	}
	p.window[d.size%loopWindow] = b
	d.size++
	if b == '\n' {
		d.column, d.onFence = 0, false
	} else {
		if d.column < len(d.line) {
			d.line[d.column] = b
		}
		if d.column++; d.column == len(d.line) && string(d.line[:]) == "```" {
			d.fence, d.onFence = !d.fence, true
			d.addFence()
		}
	}
	if d.size < gramSize {
		return
	}
	slot := p.hash * 2654435769 >> (32 - gramBits)
	before := int(p.last[slot])
	p.last[slot] = int32(d.size)
	if p.length == 0 && before > 0 && d.size-before <= maxPeriod && p.equalGrams(before, d.size) {
		p.length, p.run, p.needed = d.size-before, gramSize, 0
	}
	if p.length == 0 || p.run < minLoop {
		return
	}
	if p.needed == 0 {
		p.needed = d.minRun()
	}
	if p.run >= p.needed {
		d.markFound(p.wordEnd(d.size-p.run, d.size))
	}
}

func (p *period) equalGrams(a, b int) bool {
	for i := 1; i <= gramSize; i++ {
		if p.window[(a-i)%loopWindow] != p.window[(b-i)%loopWindow] {
			return false
		}
	}
	return true
}

// minRun returns how many repeated bytes make a loop of the current period.
func (d *LoopDetector) minRun() int {
	p, least := &d.period, 0
	switch {
	case !p.hasLetters(d.size):
		least = minPlainLoop
		if p.length <= 2 {
			least = minRule
		}
	case p.length < shortUnit:
		least = minShortLoop
	case p.length < 200:
		least = max(minLoop, 5*p.length)
	case p.length < 600:
		least = 3 * p.length
	default:
		least = 2 * p.length
	}
	if d.fence {
		least *= fenceFactor
	}
	return least
}

// maxRotation limits how far the start of a repetition may be before the end of its first unit,
// because the text before it happens to end in the same way.
const maxRotation = 16

// wordEnd returns the end of the word at a place, if it is near, or else the place.
func (p *period) wordEnd(at, size int) int {
	if at <= 0 || size-at >= loopWindow {
		return at
	}
	ends := func(i int) bool { return strings.IndexByte("\n \t", p.window[i%loopWindow]) >= 0 }
	for i := at - 1; i < min(at+maxRotation, size); i++ {
		if ends(i) {
			return i + 1
		}
	}
	return at
}

func (p *period) hasLetters(end int) bool {
	for i := end - p.length; i < end; i++ {
		if b := p.window[i%loopWindow]; b >= utf8.RuneSelf || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' {
			return true
		}
	}
	return false
}

// addRune extends the white space and the segments. n is the length of r.
func (d *LoopDetector) addRune(r rune, n int) {
	s := &d.segment
	space := unicode.IsSpace(r)
	switch {
	case !space:
		d.spaces = 0
	case d.spaces+n >= maxSpaces:
		d.markFound(d.size - d.spaces - n)
	default:
		d.spaces += n
	}
	if !space && !s.begun {
		s.begun, s.start, s.item, s.mark = true, d.size-n, strings.ContainsRune("-*•", r), r == '['
	}
	if !unicode.IsDigit(r) {
		s.within = false
	}
	if !d.onFence && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
		d.fences = 0
	}
	isItem := s.letters == 0 && 0 < s.digits && s.digits <= maxListDigits
	switch {
	case r == '\n', r == '"', space && s.ender:
		d.endSegment()
	case r >= utf8.RuneSelf && strings.ContainsRune("。！？", r):
		d.endSegment()
	case unicode.IsLetter(r):
		s.addLetter(r)
		s.words = (s.words ^ uint64(unicode.ToLower(r))) * 1099511628211
		if s.letters++; r >= firstIdeograph {
			s.letters += 2
		}
	case unicode.IsDigit(r):
		s.addLetter(r)
		s.addDigit(r)
		if s.letters == 0 {
			s.digits++
		}
	case (r == '.' || r == ')') && isItem:
		*s = segment{begun: true, start: s.start, item: true}
	case r == '.', r == '!', r == '?':
		s.ender = s.letters > 0
	case !space && !strings.ContainsRune("”’)*_'", r):
		s.ender = false
	}
}

// firstIdeograph is the first of the letters that are a syllable or a word.
const firstIdeograph = 0x2E80

// maxNumberValue keeps numbers from overflowing.
const maxNumberValue = 1 << 30

func (s *segment) addDigit(r rune) {
	if !s.within {
		s.within, s.count = true, s.count+1
	}
	if n := s.count - 1; n < maxNumbers && s.numbers[n] < maxNumberValue {
		s.numbers[n] = 10*s.numbers[n] + int(r-'0')
	}
}

func (s *segment) addLetter(r rune) {
	s.hash = (s.hash ^ uint64(unicode.ToLower(r))) * 1099511628211
	s.ender = false
}

// endSegment looks for a few segments that repeat.
func (d *LoopDetector) endSegment() {
	s := d.segment
	d.segment = segment{}
	switch {
	case d.fence:
		return
	case s.mark && s.letters <= 1 && s.count > 0: // an id such as [e3]
		return
	case s.letters > 0:
		d.empty = 0
		if d.counted.addSegment(s) {
			d.markFound(d.counted.start)
			return
		}
	case s.item && s.digits == 0:
		d.addEmptyItem(s.start)
		return
	default:
		return
	}
	if len(d.recent) >= maxSegments {
		d.recent = slices.Delete(d.recent, 0, 1)
	}
	d.recent = append(d.recent, s)
	var set [maxLoopSet]uint64
	distinct, longest := 0, 0
	for i := len(d.recent) - 1; i >= 0; i-- {
		s := d.recent[i]
		longest = max(longest, s.letters)
		if !slices.Contains(set[:distinct], s.hash) {
			if distinct == maxLoopSet {
				return
			}
			set[distinct] = s.hash
			distinct++
		}
		if n := len(d.recent) - i; n >= loopRounds*distinct && longest >= minLoopSegment {
			d.markFound(d.firstRepeated(set[:distinct]))
			return
		}
	}
}

// addSegment reports whether the segments only count up.
func (c *counter) addSegment(s segment) bool {
	var steps [maxNumbers]int
	same := s.words == c.last.words && s.count == c.last.count && 0 < s.count && s.count <= maxNumbers && s.letters >= shortUnit/2
	for i := range steps {
		steps[i] = s.numbers[i] - c.last.numbers[i]
	}
	switch {
	case !same || steps == [maxNumbers]int{}:
		c.n = 0
	case c.n > 0 && steps == c.steps:
		c.n++
	default:
		c.n, c.steps, c.start = 1, steps, s.start
	}
	c.last = s
	return c.n >= maxCounted
}

// addFence adds a line of a fence, of which three bytes were read.
func (d *LoopDetector) addFence() {
	if d.fences == 0 {
		d.fenceAt = d.size - len(d.line)
	}
	if d.fences++; d.fences >= maxEmptyItems {
		d.markFound(d.fenceAt)
	}
}

func (d *LoopDetector) addEmptyItem(start int) {
	if d.empty == 0 {
		d.emptyAt = start
	}
	if d.empty++; d.empty >= maxEmptyItems {
		d.markFound(d.emptyAt)
	}
}

// firstRepeated returns where the repetition of a set of segments starts: at the first
// segment that appears again.
func (d *LoopDetector) firstRepeated(set []uint64) int {
	i := len(d.recent)
	for i > 0 && slices.Contains(set, d.recent[i-1].hash) {
		i--
	}
	for j := i; j < len(d.recent); j++ {
		for k := i; k < j; k++ {
			if d.recent[k].hash == d.recent[j].hash {
				return d.recent[j].start
			}
		}
	}
	return d.size
}

// TrimLoop returns text without the repetition at its end, if any.
func TrimLoop(text string) string {
	d := NewLoopDetector()
	defer d.Release()
	if cut, found := d.Add(text); found {
		return strings.TrimRightFunc(text[:cut], unicode.IsSpace)
	}
	return text
}
