package document

import "ponder/internal/textkit/lexical"

// english is the language whose stems words are compared by here, whatever the
// language of a text: what is looked for is treated alike.
const english lexical.Language = "en"

// term returns what a word is compared by: without case and accents, and its
// stem if it is English.
func term(word string) string { return lexical.Stem(word, english) }
