package main

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"ponder/internal/textkit"
)

// A speech is an answer while it is being written: it makes of the pieces that a
// model writes, and of the texts that are in the log in the end, one text that is
// only added to. The zero speech has said nothing. It is not safe for concurrent use.
type speech struct {
	atOnce bool   // nothing is said of a round before all of it is in the log
	spoke  bool   // a model has said something, whether that is shown or not
	round  string // the key of the call that writes
	tail   []byte // of a letter or an escape sequence that is not whole
	blank  string // space that is said before the next word
	said   strings.Builder
	began  int  // where the round begins in said
	broken bool // the call of the round has failed: another begins anew
}

// hear takes in a piece that the call of a round writes, and returns what is to be
// shown of it.
func (s *speech) hear(round, piece string) string {
	s.spoke = s.spoke || piece != ""
	if piece == "" || s.atOnce {
		return ""
	}
	before := s.said.Len()
	if round != s.round || s.broken {
		s.begin(round)
	}
	s.say(s.whole(piece))
	return s.said.String()[before:]
}

// anew is what is said where what was shown of a round came to nothing.
const anew = "[cut off: the answer begins anew]"

// begin begins a round.
func (s *speech) begin(round string) {
	void := (s.broken || round == s.round) && s.began >= 0 && s.said.Len() > 0
	s.round, s.broken, s.tail, s.blank = round, false, nil, ""
	if s.said.Len() > 0 {
		s.blank = "\n\n"
	}
	if void {
		s.blank += anew + "\n\n"
	}
	s.began = -1
}

// whole returns the piece with the letters that are whole now, as a terminal may be
// sent them.
func (s *speech) whole(piece string) string {
	b := append(s.tail, piece...)
	cut := len(b)
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				cut = len(b) - i
			}
			break
		}
	}
	cut = textkit.Whole(string(b[:cut]))
	s.tail = append([]byte(nil), b[cut:]...)
	return textkit.Clean(string(b[:cut]))
}

// say adds text. Space is held back until a word comes after it, and that before
// the first word of a round is left out.
func (s *speech) say(text string) {
	word := strings.TrimLeftFunc(text, unicode.IsSpace)
	if s.began >= 0 {
		s.blank += text[:len(text)-len(word)]
	}
	if word == "" {
		return
	}
	s.said.WriteString(s.blank)
	if s.began < 0 {
		s.began = s.said.Len()
	}
	end := strings.TrimRightFunc(word, unicode.IsSpace)
	s.said.WriteString(end)
	s.blank = word[len(end):]
}

// settle takes in what the log has of a round, and returns what is to be shown that
// was not: pieces may have been missed.
func (s *speech) settle(round, text string) string {
	before := s.said.Len()
	s.spoke = true
	if round != s.round {
		s.begin(round)
	}
	text = strings.TrimSpace(textkit.Clean(text))
	shown := ""
	if s.began >= 0 {
		shown = s.said.String()[s.began:]
	}
	rest, ok := strings.CutPrefix(text, shown)
	if !ok { // it was said in other words
		s.begin(round)
		rest = text
	}
	if shown != "" && ok {
		s.blank = ""
	}
	s.say(rest)
	s.blank, s.tail = "", nil
	return s.said.String()[before:]
}

// fail notes that the call of a round has failed: what comes of another attempt
// begins anew.
func (s *speech) fail(round string) {
	if round == s.round {
		s.broken = true
	}
}

// open returns what was said in the round that goes on and may not be in the log.
func (s *speech) open() string {
	if s.began < 0 {
		return ""
	}
	return s.said.String()[s.began:]
}
