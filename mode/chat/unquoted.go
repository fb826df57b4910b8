package chat

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"ponder"
	"ponder/llm"
)

// shingleWords is the number of consecutive words of a hidden text that count as a quotation.
const shingleWords = 3

// publicError returns the reason of a failed call for users. Providers may quote requests: if the
// error repeats hidden text, only its class is returned.
func (s *state) publicError(b ponder.CallFinished) string {
	said := " " + strings.Join(splitWords(b.Error), " ") + " "
	for _, text := range s.hiddenTexts() {
		list := splitWords(text)
		if len(list) < shingleWords && len(strings.Join(list, "")) < 5 {
			continue
		}
		for i := range max(1, len(list)-shingleWords+1) {
			if strings.Contains(said, " "+strings.Join(list[i:min(i+shingleWords, len(list))], " ")+" ") {
				return fmt.Sprintf("%s did not answer: %s; the log contains its message, which quotes thoughts", b.Model, className(b.Class))
			}
		}
	}
	return b.Error
}

func className(c llm.Class) string { return strings.ReplaceAll(string(c), "_", " ") }

func (s *state) hiddenTexts() (list []string) {
	for _, n := range s.Notes {
		list = append(list, n.Text)
	}
	for _, t := range append(s.visibleTurns(), s.Waiting...) {
		list = append(list, t.Thoughts...)
	}
	w := s.currentWork()
	if w == nil {
		return list
	}
	for _, m := range w.Msgs {
		for _, p := range m.Parts {
			if p.Call != nil {
				list = append(list, jsonStrings(p.Call.Input)...)
			}
			if p.Result != nil {
				list = append(list, p.Result.Text)
			}
		}
	}
	return list
}

// jsonStrings returns the strings in a JSON value, or js itself if invalid.
func jsonStrings(js json.RawMessage) (list []string) {
	var v any
	if json.Unmarshal(js, &v) != nil {
		return []string{string(js)}
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			list = append(list, v)
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(v)
	return list
}

func splitWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
