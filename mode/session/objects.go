package session

import (
	"encoding/json"
	"strings"

	"ponder/llm"
)

// thoughtsInJSON reads thoughts out of the JSON in text.
func thoughtsInJSON(text string) (list []heard) {
	for _, m := range objects(text, "thoughts") {
		h := heard{
			Text: m.text("thought", "thought_text", "text", "content", "idea"), Kind: m.text("type", "thought_type", "kind", "category"),
			Confidence: m.share("confidence", "confidence_level", "certainty"), Importance: m.importance(),
			Cites: m.list("cites", "citations", "sources", "evidence"),
		}
		if h.Text != "" {
			list = append(list, h)
		}
	}
	return list
}

// questionsInJSON reads questions, and reports whether text has a list for them,
// though it may be empty.
func questionsInJSON(text string) (list []asked, ok bool) {
	all := objects(text, "questions")
	for _, m := range all {
		q := asked{
			Text: m.text("question", "question_text", "text", "content"), Why: m.text("why", "reason", "rationale", "explanation"),
			Priority: m.priority("priority", "importance"), Parent: m.text("parent", "parent_id"),
		}
		if q.Text != "" {
			list = append(list, q)
		}
	}
	return list, all != nil && (len(all) == 0 || len(list) > 0)
}

// summaryInJSON reads a synthesis or an answer.
func summaryInJSON(text string) (summary, bool) {
	if sum, ok := readPlainSummary(text); ok {
		return sum, true
	}
	return patientSummary(text)
}

// patientSummary reads a synthesis or an answer in whatever names.
func patientSummary(text string) (summary, bool) {
	for _, m := range objects(text, "") {
		sum := summary{
			Text:     m.text("synthesis", "answer", "synthesis_text", "final_answer", "summary", "text", "content"),
			Insights: m.list("insights", "key_insights"), Confidence: m.share("confidence", "confidence_level"),
			Remaining: m.list("remaining", "remaining_questions", "open_questions", "open"),
		}
		if sum.Text != "" {
			return sum, true
		}
	}
	return summary{}, false
}

// An object is a JSON object whose names are in lower case.
type object map[string]any

// objects returns the objects of the list that the JSON in text has under a
// name, or is, or that has but one element; nil if there is no such thing.
func objects(text, name string) []object {
	js, err := llm.Repair(text)
	if err != nil {
		return nil
	}
	var v any
	if json.Unmarshal(js, &v) != nil {
		return nil
	}
	named := false
	for range 3 { // such as {"response": {"thoughts": [...]}}
		m, ok := v.(map[string]any)
		if !ok {
			break
		}
		low := lower(m)
		if inner, ok := low[name]; ok {
			v, named = inner, true
		} else if v = only(low); v == nil {
			return []object{low}
		}
	}
	list, ok := v.([]any)
	if !ok {
		return nil
	}
	return elements(list, named)
}

// elements returns the objects of a list; nil if it has others, and none. A text
// counts as an object; outside of a named list it may be a citation, as in [e3],
// unless it has several words.
func elements(list []any, named bool) []object {
	all := []object{}
	for _, e := range list[:min(len(list), 4*maxThoughts)] {
		switch e := e.(type) {
		case map[string]any:
			all = append(all, lower(e))
		case string:
			if named || strings.Contains(e, " ") {
				all = append(all, object{"text": e})
			}
		}
	}
	if len(all) == 0 && len(list) > 0 {
		return nil
	}
	return all
}

// only returns the value of an object's only member, if it is no scalar.
func only(m object) any {
	for _, v := range m {
		switch v.(type) {
		case map[string]any, []any:
			if len(m) == 1 {
				return v
			}
		}
	}
	return nil
}

func lower(m map[string]any) object {
	low := make(object, len(m))
	for k, v := range m {
		low[strings.ReplaceAll(strings.ToLower(strings.TrimSpace(k)), " ", "_")] = v
	}
	return low
}

// text returns the first member of these names that is a text.
func (m object) text(names ...string) string {
	for _, name := range names {
		if s, ok := m[name].(string); ok && strings.TrimSpace(s) != "" {
			return s
		}
	}
	return ""
}

// share returns a member as a number from 0 to 1.
func (m object) share(names ...string) float64 {
	for _, name := range names {
		switch v := m[name].(type) {
		case float64:
			return scaled(v)
		case string:
			return share(v)
		}
	}
	return defaultConfidence
}

// importance returns how much a thought matters, or 0 if that is not said.
func (m object) importance() float64 {
	if m["importance"] == nil {
		return 0
	}
	return m.share("importance")
}

// priority returns a member as a number from 1 to 10.
func (m object) priority(names ...string) int {
	for _, name := range names {
		switch v := m[name].(type) {
		case float64:
			return ranked(v)
		case string:
			return priority(v)
		}
	}
	return defaultPriority
}

// list returns a member as a list of texts.
func (m object) list(names ...string) (list []string) {
	for _, name := range names {
		switch v := m[name].(type) {
		case string:
			return splitItems(v)
		case []any:
			for _, e := range v {
				if text := itemText(e); text != "" {
					list = append(list, text)
				}
			}
			return list
		}
	}
	return nil
}

// itemText returns the text of an element of a list, which may be an object.
func itemText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		js, _ := json.Marshal(v) // a number can be marshalled
		return string(js)
	case map[string]any:
		return lower(v).text("insight", "question", "text", "content", "id")
	}
	return ""
}
