package session

import (
	"slices"
	"strings"

	"ponder/llm"
)

// thoughtsInJSON reads thoughts out of the JSON in text, and reports whether they are
// surely what was asked for: each has more than a text.
func thoughtsInJSON(text string, loose bool) (list []heard, sure bool) {
	all, _ := objects(text, parser{labels: thoughtLabels, head: "thought", beside: []string{"type", "confidence"}, loose: loose})
	sure = true
	for _, o := range all {
		h := heard{Text: o.text("thought"), Kind: o.text("type"), Confidence: o.share("confidence"), Cites: o.texts("cites")}
		if sure = sure && h.Text != "" && len(o) > 1; h.Text == "" {
			h.Text = o.text(looseNames...)
		}
		if o.has("importance") {
			h.Importance = o.share("importance")
		}
		if t, ok := tagged(h.Text); ok && len(o) == 1 {
			h = t
		}
		if h.Text != "" {
			list = append(list, h)
		}
	}
	return list, sure && len(list) > 0
}

// questionsInJSON reads questions, and reports whether text has a list for them,
// though it may be empty.
func questionsInJSON(text string, loose bool) (list []asked, ok bool) {
	all, ok := objects(text, parser{labels: questionLabels, head: "question", beside: []string{"priority", "why"}, loose: loose})
	for _, o := range all {
		q := asked{Text: o.text(append([]string{"question"}, looseNames...)...), Why: o.text("why"), Priority: o.priority("priority"), Parent: o.text("parent")}
		if q.Text != "" {
			list = append(list, q)
		}
	}
	return list, ok && (len(all) == 0 || len(list) > 0)
}

// ranksInJSON reads new priorities: as objects, as {"q3": 9}, or as "q3: 9".
func ranksInJSON(text string) (list []ranking) {
	values, err := llm.RepairAll(text)
	if err != nil {
		return nil
	}
	for _, js := range values {
		switch v := valueOf(decoded(js, questionLabels), "rank", 0).(type) {
		case object:
			for _, m := range v {
				list = append(list, ranking{m.name, object{m}.priority(m.label)})
			}
		case []any:
			for _, e := range v {
				switch e := e.(type) {
				case object:
					list = append(list, ranking{e.text("id", "question id", "question"), e.priority("priority")})
				case string:
					list = append(list, ranksInText(e)...)
				}
			}
		}
	}
	list = slices.DeleteFunc(list, func(r ranking) bool { return !questionID.MatchString(r.id) })
	return list[:min(len(list), maxOpen)]
}

// valueOf returns the value under a label in an object, or in those within it.
func valueOf(v any, label string, depth int) any {
	o, ok := inner(v, questionLabels).(object)
	if !ok || depth > maxNested {
		return nil
	}
	if v := o.get(label); v != nil {
		return v
	}
	for _, m := range o {
		if v := valueOf(m.value, label, depth+1); v != nil {
			return v
		}
	}
	return nil
}

// answerNames are what an answer is called in JSON that is nothing else.
var answerNames = append([]string{"response", "conclusion", "result", "output", "message"}, looseNames...)

// summaryInJSON reads a synthesis or an answer, and reports whether there is one; and
// whether it surely is what was asked for. JSON that is but a part of an answer is an
// example in it.
func summaryInJSON(text string) (sum summary, ok, sure bool) {
	if sum, ok := readPlainSummary(text); ok {
		return sum, true, true
	}
	bare := unfenced(text)
	values, err := llm.RepairAll(text)
	if err != nil {
		return sum, false, false
	}
	for _, js := range values {
		o := summaryObject(decoded(js, summaryLabels), 0)
		whole := looksLikeJSON(bare) && strings.IndexByte("}]", bare[len(bare)-1]) >= 0
		sum, named, others := summaryOf(o, whole)
		switch main := 2*len(js) > len(bare); {
		case sum.Text == "":
		case named && others > 1, main && (named || others > 0 || whole):
			return sum, true, named && others > 1 || looksLikeJSON(bare)
		}
	}
	return summary{}, false, false
}

// summaryObject returns the object in a value that has an answer, or the first one.
func summaryObject(v any, depth int) object {
	o, ok := inner(v, summaryLabels).(object)
	if !ok || depth > maxNested {
		return nil
	}
	others := o.has("insights") || o.has("confidence") || o.has("remaining")
	if deeper := summaryObject(o.get("answer"), depth+1); deeper.has("answer") && !others {
		return deeper
	}
	if others || o.has("answer") {
		return o
	}
	for _, m := range o {
		if deeper := summaryObject(m.value, depth+1); deeper.has("answer") {
			return deeper
		}
	}
	return o
}

// summaryOf reads a synthesis or an answer, which loosely may be called anything. It
// reports whether it is called so, and how many other parts there are.
func summaryOf(o object, loose bool) (sum summary, named bool, others int) {
	sum = summary{Insights: o.texts("insights"), Confidence: o.share("confidence"), Remaining: o.texts("remaining")}
	for _, label := range []string{"insights", "confidence", "remaining"} {
		others += one(o.has(label))
	}
	for _, m := range o {
		if m.label == "answer" {
			text := joinedText(m.value, "\n\n")
			if strings.TrimSpace(text) != "" && (sum.Text == "" || !named) {
				sum.Text, named = text, headOf(m.name) != "summary"
			}
		}
	}
	if sum.Text == "" && (loose || others > 0) {
		sum.Text = o.text(answerNames...)
	}
	return sum, named, others
}
