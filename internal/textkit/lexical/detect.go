package lexical

import (
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/abadojack/whatlanggo"
	"golang.org/x/text/unicode/rangetable"
)

// Limits of the sample for detection.
const (
	maxSample  = 1 << 10 // bytes
	minLetters = 40      // fewer letters are inconclusive
)

// Detect returns the language of a text and the confidence from 0 to 1, by the script, stop words
// and letter sequences of its start. It returns "" if the language is unsure or the text too
// short. The language may have no stems. Detection takes some microseconds, or a millisecond if
// stop words are inconclusive.
func Detect(text string) (Language, float64) {
	text = sampleText(text)
	if lang := detectByScript(text); lang != "" {
		return lang, 1
	}
	if lang, sure := detectByStops(text); lang != "" {
		return lang, sure
	}
	return detectByOrder(text)
}

// sampleText returns the start of a text.
func sampleText(text string) string {
	if len(text) <= maxSample {
		return text
	}
	n := maxSample
	for n > maxSample-utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// detectByScript returns the language that alone uses the script of most letters.
func detectByScript(text string) Language {
	letters := 0
	var counts [len(scripts)]int
	for _, r := range text {
		if !unicode.IsLetter(r) {
			continue
		}
		letters++
		for i := range scripts {
			if r >= 0x370 && unicode.Is(scripts[i].table, r) {
				counts[i]++
				break
			}
		}
	}
	if kana := counts[0]; kana > 0 {
		counts[0] += counts[1] // Japanese uses Chinese characters too
	}
	for i, n := range counts {
		if n*2 > letters && !strings.ContainsAny(text, scripts[i].but) {
			return scripts[i].lang
		}
	}
	return ""
}

// scripts are used mainly by one language. Letters in but identify other languages.
var scripts = [...]struct {
	table *unicode.RangeTable
	lang  Language
	but   string
}{
	{kana, "ja", ""}, {unicode.Han, "zh", ""}, {unicode.Hangul, "ko", ""}, {unicode.Thai, "th", ""}, {unicode.Greek, "el", ""},
	{unicode.Hebrew, "he", ""}, {unicode.Arabic, "ar", "پچژگکیےٹڈںۋې"}, {unicode.Tamil, "ta", ""}, {unicode.Georgian, "ka", ""},
	{unicode.Armenian, "hy", ""}, {unicode.Bengali, "bn", ""}, {unicode.Telugu, "te", ""}, {unicode.Kannada, "kn", ""},
	{unicode.Malayalam, "ml", ""}, {unicode.Gujarati, "gu", ""}, {unicode.Khmer, "km", ""}, {unicode.Lao, "lo", ""},
	{unicode.Myanmar, "my", ""}, {unicode.Sinhala, "si", ""},
}

var kana = rangetable.Merge(unicode.Hiragana, unicode.Katakana)

// detectByStops returns the language with enough stop words and a clear lead. A stop word of several
// languages counts less.
func detectByStops(text string) (Language, float64) {
	var weights [32]float64
	var counts [32]int
	n := 0
	Tokens(text, func(t Token) {
		n++
		langs := stops[Fold(text[t.Start:t.End])]
		weight := 1 / float64(max(1, bits.OnesCount32(uint32(langs))))
		for ; langs != 0; langs &= langs - 1 {
			i := bits.TrailingZeros32(uint32(langs))
			weights[i] += weight
			counts[i]++
		}
	})
	best, second := 0, 0.0
	for i := range listed {
		if weights[i] > weights[best] {
			best = i
		}
	}
	for i := range listed {
		if i != best {
			second = max(second, weights[i])
		}
	}
	if counts[best] < 2 || counts[best]*5 < n || weights[best] < 1.4*second || hasForeignLetters(text, listed[best]) {
		return "", 0
	}
	return listed[best], 1 - second/weights[best]
}

// hasForeignLetters reports whether a text has letters of a neighbouring language.
func hasForeignLetters(text string, lang Language) bool {
	return lang == "ru" && strings.ContainsAny(text, "іїєґўјљњђћџѓќѕ")
}

// detectByOrder returns the language by letter sequences.
func detectByOrder(text string) (Language, float64) {
	letters := 0
	for _, r := range text {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	if letters < minLetters {
		return "", 0
	}
	info := whatlanggo.DetectWithOptions(text, whatlanggo.Options{Whitelist: common})
	lang := Language(info.Lang.Iso6391())
	if !info.IsReliable() || hasForeignLetters(text, lang) {
		return "", 0
	}
	switch info.Lang {
	case whatlanggo.Nob, whatlanggo.Nno:
		return "no", info.Confidence
	}
	return lang, info.Confidence
}

// common are the languages of detectByOrder: those with stems and those that resemble them.
var common = map[whatlanggo.Lang]bool{
	whatlanggo.Arb: true, whatlanggo.Dan: true, whatlanggo.Deu: true, whatlanggo.Eng: true, whatlanggo.Spa: true, whatlanggo.Fin: true,
	whatlanggo.Fra: true, whatlanggo.Hun: true, whatlanggo.Ita: true, whatlanggo.Nld: true, whatlanggo.Nob: true, whatlanggo.Nno: true,
	whatlanggo.Por: true, whatlanggo.Ron: true, whatlanggo.Rus: true, whatlanggo.Swe: true, whatlanggo.Tam: true, whatlanggo.Tur: true,
	whatlanggo.Pol: true, whatlanggo.Ces: true, whatlanggo.Hrv: true, whatlanggo.Srp: true, whatlanggo.Slv: true, whatlanggo.Ukr: true,
	whatlanggo.Bel: true, whatlanggo.Bul: true, whatlanggo.Mkd: true, whatlanggo.Pes: true, whatlanggo.Urd: true, whatlanggo.Hin: true,
	whatlanggo.Mar: true, whatlanggo.Nep: true, whatlanggo.Vie: true, whatlanggo.Ind: true, whatlanggo.Est: true, whatlanggo.Lav: true,
	whatlanggo.Lit: true, whatlanggo.Epo: true, whatlanggo.Tgl: true,
}
