package report

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A claimMark is the position of a claim in a block: letters start to end of its leaves.
type claimMark struct {
	number     string // of the claim, from 1
	start, end int
}

// markClaims wraps claims in spans, searched in order. It ignores missing ones.
func markClaims(list []block, claims []Claim) {
	next := 0
	for i := range list {
		next = markBlock(&list[i], claims, next)
	}
}

// markBlock marks the claims in a block, from next on, and returns the new next.
func markBlock(b *block, claims []Claim, next int) int {
	if b.kind == code {
		return next
	}
	if len(b.spans) > 0 {
		marks, after := findClaims(b.spans, claims, next)
		if next = after; len(marks) > 0 {
			pos := 0
			b.spans = cutSpans(b.spans, marks, &pos)
		}
	}
	for i := range b.blocks {
		next = markBlock(&b.blocks[i], claims, next)
	}
	return next
}

// maxAhead is the number of claims tried after a missing one.
const maxAhead = 8

// findClaims returns the positions of claims, and the new next.
func findClaims(spans []span, claims []Claim, next int) (marks []claimMark, _ int) {
	text, places := lettersOnly(leafText(spans))
	from := 0
	for i := next; i < len(claims) && i < next+maxAhead; i++ {
		key, _ := lettersOnly(claims[i].Text)
		if key == "" {
			continue
		}
		at := strings.Index(text[from:], key)
		if at < 0 {
			continue
		}
		start := from + at
		from = start + len(key)
		marks = append(marks, claimMark{strconv.Itoa(i + 1), places[start], places[from-1] + 1})
		next = i + 1
	}
	return marks, next
}

func leafText(list []span) string {
	var b strings.Builder
	for _, s := range list {
		switch s.kind {
		case plain, codeSpan:
			b.WriteString(s.text)
		case emphasis, strong, strike, link:
			b.WriteString(leafText(s.spans))
		}
	}
	return b.String()
}

// lettersOnly returns the letters and digits of a text, and the source position of each byte.
func lettersOnly(text string) (string, []int) {
	var b strings.Builder
	var places []int
	for i, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			continue
		}
		n := utf8.RuneLen(r)
		if r == utf8.RuneError {
			continue
		}
		b.WriteRune(r)
		for range n - 1 {
			places = append(places, i)
		}
		places = append(places, i+n-1)
	}
	// A claim starts at the first byte of its first letter.
	for i, r := range b.String() {
		for k := range utf8.RuneLen(r) {
			places[i+k] = places[i+utf8.RuneLen(r)-1] - utf8.RuneLen(r) + 1 + k
		}
	}
	return b.String(), places
}

// cutSpans splits spans at marks. pos is the position in the leaves.
func cutSpans(list []span, marks []claimMark, pos *int) (out []span) {
	for _, s := range list {
		switch s.kind {
		case plain, codeSpan:
			out = append(out, cutLeaf(s, marks, *pos)...)
			*pos += len(s.text)
		case emphasis, strong, strike, link:
			s.spans = cutSpans(s.spans, marks, pos)
			out = append(out, s)
		default:
			out = append(out, s)
		}
	}
	return out
}

// cutLeaf splits a leaf that starts at position at.
func cutLeaf(s span, marks []claimMark, at int) (out []span) {
	from, end := 0, len(s.text)
	piece := func(to int) span { return span{kind: s.kind, text: s.text[from:to]} }
	for _, m := range marks {
		a, b := max(m.start-at, 0), min(m.end-at, end)
		if a >= end || b <= 0 || a >= b || a < from {
			continue
		}
		if a > from {
			out = append(out, piece(a))
			from = a
		}
		last := m.end-at <= end
		out = append(out, span{kind: claimed, text: m.number, spans: []span{piece(b)}})
		if from = b; last {
			out = append(out, span{kind: sign, text: m.number})
		}
	}
	if from < end {
		out = append(out, piece(end))
	}
	return out
}
