package index

import (
	"slices"

	"ponder/internal/textkit/lexical"
)

// maxLanguages is the most languages, as bits of a mask.
const maxLanguages = 32

// languages has those that words are stemmed by, and behind them "und" for
// languages without stems.
var languages = append(lexical.Languages(), undetermined)

const (
	undetermined lexical.Language = "und"
	english      lexical.Language = "en"
)

// languageNumber returns the number of a language in languages.
func languageNumber(code string) uint8 {
	i := slices.Index(languages, lexical.Language(code))
	if i < 0 {
		i = len(languages) - 1
	}
	return uint8(i)
}

// stemLanguage returns what the words of a document are stemmed by.
func stemLanguage(d *Doc) lexical.Language {
	lang := d.Language
	if lang == "" {
		lang, _ = lexical.Detect(sample(d))
	}
	switch {
	case lang == "":
		return english
	case slices.Contains(languages, lang):
		return lang
	}
	return undetermined
}

// maxSample is how many bytes are read to know the language.
const maxSample = 1 << 10

func sample(d *Doc) string {
	var b []byte
	for i := 0; i < len(d.Passages) && len(b) < maxSample; i++ {
		b = append(append(b, d.Passages[i].Text...), '\n')
	}
	if len(b) < maxSample {
		b = append(b, d.Title...)
	}
	return string(b[:min(len(b), maxSample)])
}
