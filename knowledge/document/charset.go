package document

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// Bounds on telling how a text is written.
const (
	sampleText = 64 << 10 // bytes that are looked at
	leastSure  = 0.8      // of the letters beyond ASCII that must be usual ones
)

// A writing is a way in which texts were written before UTF-8, and what part of
// the letters beyond ASCII are usual ones in a text that is written so.
type writing struct {
	enc   encoding.Encoding
	usual func(text []rune) float64
}

// writings are tried in this order: of those that fit as well, the first is
// taken.
func writings() []writing {
	return []writing{
		{charmap.Windows1252, western},
		{charmap.Windows1250, central},
		{japanese.ShiftJIS, japaneseText},
		{japanese.EUCJP, japaneseText},
		{korean.EUCKR, koreanText},
		{simplifiedchinese.GB18030, chineseText},
		{traditionalchinese.Big5, chineseText},
		{charmap.Windows1251, cyrillic},
		{charmap.KOI8R, cyrillic},
	}
}

// decodeOld returns the text of a file that is neither UTF-8 nor UTF-16: in the
// writing in which its letters are most usual. It is not ok if there is none.
func decodeOld(file []byte) (string, bool) {
	sample := file[:min(len(file), sampleText)]
	for i := 0; i < 3 && len(sample) < len(file) && sample[len(sample)-1] >= 0x80; i++ {
		sample = sample[:len(sample)-1] // may be half a letter
	}
	best, score := encoding.Encoding(nil), leastSure
	for _, w := range writings() {
		out, err := w.enc.NewDecoder().Bytes(sample)
		if err != nil {
			continue
		}
		if s := w.usual([]rune(string(out))); s > score+0.01 {
			best, score = w.enc, s
		}
	}
	if best == nil {
		return "", false
	}
	out, err := best.NewDecoder().Bytes(file)
	return string(out), err == nil
}

// share returns what part of the letters beyond ASCII are good; a letter that
// cannot be counts against it threefold.
func share(text []rune, good func(before, r, after rune) bool) float64 {
	n, yes := 0, 0
	for i, r := range text {
		if r < 0x80 {
			continue
		}
		before, after := ' ', ' '
		if i > 0 {
			before = text[i-1]
		}
		if i+1 < len(text) {
			after = text[i+1]
		}
		switch {
		case r == utf8.RuneError || r < 0xa0 || unicode.Is(unicode.Co, r):
			n += 3
		case good(before, r, after):
			n, yes = n+1, yes+1
		default:
			n++
		}
	}
	if n == 0 {
		return 1
	}
	return float64(yes) / float64(n)
}

func isIn(r rune, list string) bool {
	for _, c := range list {
		if c == r {
			return true
		}
	}
	return false
}

// marks are signs that stand in texts of all Latin writings.
const marks = "“”„‘’‚–—…•«»§°€£©®™²³½¼\u00a0·×±µ¿¡"

// latin reports whether a letter stands where one of a word does: in small
// letters it follows or goes before letters of ASCII, in capitals it does not
// follow a small one.
func latin(letters string) func(text []rune) float64 {
	return func(text []rune) float64 {
		return share(text, func(before, r, after rune) bool {
			switch {
			case isIn(r, marks):
				return true
			case !isIn(r, letters):
				return false
			case unicode.IsUpper(r):
				return !unicode.IsLower(before) && (after < 0x80 || unicode.IsUpper(after))
			}
			return before < 0x80 || after < 0x80
		})
	}
}

func western(text []rune) float64 {
	return latin("àáâãäåæçèéêëìíîïñòóôõöøùúûüýÿœßÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝŒð")(text)
}

func central(text []rune) float64 {
	return latin("áâăäąćčçďđéęëěíîľĺłńňóôőöŕřśšşťţúůűüýźžżßÁÂĂÄĄĆČÇĎĐÉĘËĚÍÎĽŁŃŇÓÔŐÖŘŚŠŞŤŢÚŮŰÜÝŹŽŻ")(text)
}

// cyrillic letters are mostly small, and stand beside each other.
func cyrillic(text []rune) float64 {
	return share(text, func(before, r, after rune) bool {
		switch {
		case isIn(r, marks) || r == '№':
			return true
		case !unicode.Is(unicode.Cyrillic, r) || !(0x410 <= r && r <= 0x44f || isIn(r, "ёЁіІїЇєЄґҐўЎ")):
			return false
		case unicode.IsUpper(r):
			return !unicode.IsLower(before)
		}
		return unicode.Is(unicode.Cyrillic, before) || unicode.Is(unicode.Cyrillic, after) || before < 0x80 && after < 0x80
	})
}

// eastern reports whether a letter is a sign of the writings of East Asia.
func eastern(r rune) bool {
	return 0x3000 <= r && r <= 0x3020 || 0xff01 <= r && r <= 0xff5e || isIn(r, marks)
}

// kana are in every Japanese text; without them it is none.
func japaneseText(text []rune) float64 {
	kana := 0
	s := share(text, func(_, r, _ rune) bool {
		if 0x3041 <= r && r <= 0x30ff {
			kana++
			return true
		}
		return eastern(r) || 0x4e00 <= r && r <= 0x9fff
	})
	if kana*10 < wides(text) {
		return 0
	}
	return s
}

func koreanText(text []rune) float64 {
	hangul := 0
	s := share(text, func(_, r, _ rune) bool {
		if 0xac00 <= r && r <= 0xd7a3 {
			hangul++
			return true
		}
		return eastern(r)
	})
	if hangul*2 < wides(text) {
		return 0
	}
	return s
}

// frequent are the characters that one in four or five of a Chinese text is.
const frequent = "的一是不了在人有我他这这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比員國來時這會個學對說們後為從過發現開還無與長間問沒"

// chineseText counts characters that are usual: in any other text that is read
// as Chinese by mistake, hardly any are.
func chineseText(text []rune) float64 {
	usual := 0
	s := share(text, func(_, r, _ rune) bool {
		if isIn(r, frequent) {
			usual++
		}
		return eastern(r) || 0x4e00 <= r && r <= 0x9fff
	})
	if n := wides(text); n == 0 || usual*12 < n {
		return 0
	}
	return s
}

// wides counts the letters of East Asia.
func wides(text []rune) (n int) {
	for _, r := range text {
		if 0x3041 <= r && r <= 0xd7a3 {
			n++
		}
	}
	return n
}
