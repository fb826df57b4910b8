package responses

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ponder/internal/compat"
)

// An event has the fields of its Type.
type event struct {
	Type     string    `json:"type"`
	Number   int       `json:"sequence_number"`
	Response *response `json:"response,omitempty"`

	Index      *int        `json:"output_index,omitempty"`
	Item       any         `json:"item,omitempty"`
	ItemID     string      `json:"item_id,omitempty"`
	Content    *int        `json:"content_index,omitempty"`
	Summary    *int        `json:"summary_index,omitempty"`
	AtNote     *int        `json:"annotation_index,omitempty"`
	Part       any         `json:"part,omitempty"`
	Delta      *string     `json:"delta,omitempty"`
	Text       *string     `json:"text,omitempty"`
	Args       *string     `json:"arguments,omitempty"`
	Input      *string     `json:"input,omitempty"`
	Name       string      `json:"name,omitempty"`
	Annotation *annotation `json:"annotation,omitempty"`
	Logs       *[]struct{} `json:"logprobs,omitempty"`

	Code    string   `json:"code,omitempty"` // of an error, in two forms
	Message string   `json:"message,omitempty"`
	Param   *string  `json:"param,omitempty"`
	Error   *failure `json:"error,omitempty"`
}

// A fold turns parts into numbered events and items. Equal parts give equal events.
type fold struct {
	r       *response
	include includeOptions
	put     func(event)
	number  int

	fault    *compat.APIError // of a failed response
	settled  int              // bytes of the answer in complete messages
	skip     int              // of repeated text
	thinking *openItem
	speaking *openItem
	searches map[string]*openItem // by part item
}

type includeOptions struct {
	sources   bool // of web searches
	results   bool // of memory searches
	questions bool // as items of a Ponder type
}

type openItem struct {
	index    int
	id       string
	text     strings.Builder
	parts    int    // of reasoning: complete parts
	partOpen bool   // of reasoning: a part is open
	partItem string // the part item of the text
	phase    string
	cut      int // removed leading characters
}

func newFold(r *response, w includeOptions, put func(event)) *fold {
	r.Output = []any{}
	return &fold{r: r, include: w, put: put, searches: make(map[string]*openItem)}
}

func (f *fold) emitStart() {
	for _, step := range []struct{ name, status string }{{"created", queued}, {"queued", queued}, {"in_progress", inProgress}} {
		f.r.Status = step.status
		f.emit(event{Type: "response." + step.name, Response: f.snapshot()})
	}
}

func (f *fold) emit(e event) {
	e.Number = f.number
	f.number++
	f.put(e)
}

func (f *fold) snapshot() *response {
	r := *f.r
	r.Output = append([]any{}, f.r.Output...)
	return &r
}

// addItem opens an item; done replaces it.
func (f *fold) addItem(kind string, item func(id string) any) *openItem {
	o := &openItem{index: len(f.r.Output), id: fmt.Sprintf("%s_%s_%d", kind, strings.ReplaceAll(strings.TrimPrefix(f.r.ID, prefix), ".", "_"), len(f.r.Output))}
	it := item(o.id)
	f.r.Output = append(f.r.Output, it)
	f.emit(event{Type: "response.output_item.added", Index: &o.index, Item: it})
	return o
}

func (f *fold) closeItem(o *openItem, item any) {
	f.r.Output[o.index] = item
	f.emit(event{Type: "response.output_item.done", Index: &o.index, Item: item})
}

func (f *fold) applyPart(p compat.Part) {
	switch p.Kind {
	case compat.Reasoning:
		f.addReasoning(p.Item, p.Text)
	case compat.Thought, compat.Progress:
		if text := strings.TrimSpace(p.Thinking()); text != "" {
			f.endReasoningPart()
			f.addReasoning(p.Item, text)
			f.endReasoningPart()
		}
	case compat.Question:
		if f.include.questions {
			f.addWhole("pq", func(id string) any { return questionItem{id, "ponder:question", completed, p.Text, p.Priority} })
		}
	case compat.Interim:
		f.addText(p.Item, "commentary", p.Text)
		f.endMessage(completed, nil)
	case compat.Text:
		if p.Again {
			f.retractText()
		}
		skipped := min(f.skip, len(p.Text))
		f.skip -= skipped
		f.addText(p.Item, "final_answer", p.Text[skipped:])
	case compat.TextEnd:
		f.completeAnswer(p)
	case compat.Searching:
		f.startSearch(p)
	case compat.Found:
		f.finishSearch(p)
	case compat.Call:
		f.addCall(p)
	}
}

// addWhole adds a complete item.
func (f *fold) addWhole(kind string, item func(id string) any) {
	f.endThinking()
	o := f.addItem(kind, item)
	f.closeItem(o, item(o.id))
}

// addReasoning appends reasoning; each thought is one summary part.
func (f *fold) addReasoning(of, more string) {
	if f.thinking == nil {
		f.thinking = f.addItem("rs", func(id string) any { return reasoningItem{id, "reasoning", []summary{}, inProgress} })
	}
	o := f.thinking
	if o.partOpen && o.partItem != of {
		f.endReasoningPart()
	}
	at := o.parts
	if !o.partOpen {
		o.partOpen, o.partItem = true, of
		f.emit(event{Type: "response.reasoning_summary_part.added", ItemID: o.id, Index: &o.index, Summary: &at, Part: summary{"summary_text", ""}})
	}
	o.text.WriteString(more)
	f.emit(event{Type: "response.reasoning_summary_text.delta", ItemID: o.id, Index: &o.index, Summary: &at, Delta: &more})
}

func (f *fold) endReasoningPart() {
	o := f.thinking
	if o == nil || !o.partOpen {
		return
	}
	at, text := o.parts, o.text.String()
	whole := summary{"summary_text", text}
	f.emit(event{Type: "response.reasoning_summary_text.done", ItemID: o.id, Index: &o.index, Summary: &at, Text: &text})
	f.emit(event{Type: "response.reasoning_summary_part.done", ItemID: o.id, Index: &o.index, Summary: &at, Part: whole})
	it := f.r.Output[o.index].(reasoningItem)
	it.Summary = append(it.Summary[:len(it.Summary):len(it.Summary)], whole)
	f.r.Output[o.index] = it
	o.parts, o.partOpen = o.parts+1, false
	o.text.Reset()
}

func (f *fold) endThinking() {
	f.endReasoningPart()
	if f.thinking == nil {
		return
	}
	it := f.r.Output[f.thinking.index].(reasoningItem)
	it.Status = completed
	f.closeItem(f.thinking, it)
	f.thinking = nil
}

// addText appends text. A message has no leading white space and is never blank.
func (f *fold) addText(of, phase, more string) {
	if f.speaking != nil && f.speaking.partItem != of {
		f.endMessage(completed, nil)
	}
	cut := 0
	if f.speaking == nil || f.speaking.text.Len() == 0 {
		word := strings.TrimLeftFunc(more, unicode.IsSpace)
		cut, more = utf8.RuneCountInString(more[:len(more)-len(word)]), word
	}
	if more == "" {
		return
	}
	zero := 0
	if f.speaking == nil {
		f.endThinking()
		f.speaking = f.addItem("msg", func(id string) any { return messageItem{id, "message", "assistant", inProgress, phase, []text{}} })
		f.speaking.partItem, f.speaking.phase, f.speaking.cut = of, phase, cut
		f.emit(event{Type: "response.content_part.added", ItemID: f.speaking.id, Index: &f.speaking.index, Content: &zero, Part: textOf("", nil)})
	}
	f.speaking.text.WriteString(more)
	f.emit(event{Type: "response.output_text.delta", ItemID: f.speaking.id, Index: &f.speaking.index, Content: &zero, Delta: &more, Logs: noLogs()})
}

// retractText empties the open message and marks it incomplete. The answer repeats; complete messages are
// skipped.
func (f *fold) retractText() {
	if o := f.speaking; o != nil {
		f.endMessage(incompleted, nil)
		it := f.r.Output[o.index].(messageItem)
		it.Content = []text{}
		f.r.Output[o.index] = it
	}
	f.skip = f.settled
}

func (f *fold) completeAnswer(p compat.Part) {
	if f.settled > 0 {
		f.settled += len(textSeparator)
	}
	f.settled += len(p.Text)
	if f.speaking != nil {
		f.endMessage(completed, newAnnotations(p.Citations, f.speaking.cut))
	}
}

// textSeparator separates rounds of an answer.
const textSeparator = "\n\n"

func noLogs() *[]struct{} { return &[]struct{}{} }

func textOf(s string, notes []annotation) text {
	if notes == nil {
		notes = []annotation{}
	}
	return text{"output_text", s, notes, []struct{}{}}
}

func (f *fold) endMessage(status string, notes []annotation) {
	o := f.speaking
	if o == nil {
		return
	}
	zero, said := 0, o.text.String()
	for i := range notes {
		f.emit(event{Type: "response.output_text.annotation.added", ItemID: o.id, Index: &o.index, Content: &zero, AtNote: &i, Annotation: &notes[i]})
	}
	whole := textOf(said, notes)
	f.emit(event{Type: "response.output_text.done", ItemID: o.id, Index: &o.index, Content: &zero, Text: &said, Logs: noLogs()})
	f.emit(event{Type: "response.content_part.done", ItemID: o.id, Index: &o.index, Content: &zero, Part: whole})
	f.closeItem(o, messageItem{o.id, "message", "assistant", status, o.phase, []text{whole}})
	f.speaking = nil
}

// newAnnotations counts offsets in Unicode code points, as Python clients do, without cut leading characters.
func newAnnotations(list []compat.Citation, cut int) (notes []annotation) {
	for _, c := range list {
		start, end := max(0, c.Start-cut), max(0, c.End-cut)
		n := annotation{Type: "url_citation", Start: &start, End: &end, URL: c.URL, Title: cmp.Or(c.Title, c.URL)}
		if c.URL == "" {
			n = annotation{Type: "file_citation", Index: &start, FileID: c.File, Filename: c.File}
		}
		notes = append(notes, n)
	}
	return notes
}

func isWeb(tool string) bool { return strings.HasPrefix(tool, "web_") }

func (f *fold) startSearch(p compat.Part) {
	f.endThinking()
	s := p.Search
	kind := "file_search_call"
	var o *openItem
	if isWeb(s.Tool) {
		kind = "web_search_call"
		o = f.addItem("ws", func(id string) any { return webItem{id, kind, inProgress, actionOf(s)} })
	} else {
		o = f.addItem("fs", func(id string) any { return fileItem{id, kind, inProgress, queriesOf(s), nil} })
	}
	f.searches[p.Item] = o
	for _, step := range []string{inProgress, "searching"} {
		f.emit(event{Type: "response." + kind + "." + step, ItemID: o.id, Index: &o.index})
	}
}

func actionOf(s *compat.Search) action {
	if s.URL != "" {
		return action{Type: "open_page", URL: s.URL}
	}
	return action{Type: "search", Queries: []string{s.Query}, Query: s.Query}
}

func queriesOf(s *compat.Search) []string {
	if s.Query == "" {
		return []string{}
	}
	return []string{s.Query}
}

func (f *fold) finishSearch(p compat.Part) {
	o := f.searches[p.Item]
	if o == nil {
		return
	}
	delete(f.searches, p.Item)
	f.endSearch(o, p.Search)
}

func (f *fold) endSearch(o *openItem, s *compat.Search) {
	status := completed
	if s.Error != "" {
		status = failed
	}
	switch it := f.r.Output[o.index].(type) {
	case webItem:
		if it.Status = status; f.include.sources {
			for _, r := range s.Results {
				if r.URL != "" {
					it.Action.Sources = append(it.Action.Sources, source{"url", r.URL})
				}
			}
		}
		f.emit(event{Type: "response.web_search_call.completed", ItemID: o.id, Index: &o.index})
		f.closeItem(o, it)
	case fileItem:
		if it.Status = status; f.include.results {
			it.Results = []found{}
			for _, r := range s.Results {
				it.Results = append(it.Results, found{r.Source, r.Title, r.Score, r.Content, map[string]string{}})
			}
		}
		f.emit(event{Type: "response.file_search_call.completed", ItemID: o.id, Index: &o.index})
		f.closeItem(o, it)
	}
}

func (f *fold) addCall(p compat.Part) {
	f.endThinking()
	ref, referred := f.r.refs[p.Call.Name]
	if referred && ref.Kind != kindFunction {
		f.addReferredCall(p, ref)
		return
	}
	args := string(p.Call.Input)
	item := callItem{Type: "function_call", Status: inProgress, CallID: p.Call.ID, Name: cmp.Or(ref.Name, p.Call.Name), Space: ref.Namespace}
	o := f.addItem("fc", func(id string) any { item.ID = id; return item })
	f.emit(event{Type: "response.function_call_arguments.delta", ItemID: o.id, Index: &o.index, Delta: &args})
	f.emit(event{Type: "response.function_call_arguments.done", ItemID: o.id, Index: &o.index, Args: &args, Name: item.Name})
	item.Status, item.Args = completed, args
	f.closeItem(o, item)
}

// emitEnd closes open items and emits the last events. A cancelled response has none.
func (f *fold) emitEnd(end compat.End, at int64) {
	f.endThinking()
	f.endMessage(incompleted, nil)
	left := slices.Collect(maps.Values(f.searches))
	slices.SortFunc(left, func(a, b *openItem) int { return a.index - b.index })
	for _, o := range left {
		f.endSearch(o, &compat.Search{Error: "the search was not completed"})
	}
	f.r.setStatus(end, at)
	switch f.r.Status {
	case failed:
		e := f.r.Error
		f.fault = end.APIError()
		f.emit(event{Type: "error", Code: e.Code, Message: e.Message, Error: e})
		f.emit(event{Type: "response.failed", Response: f.snapshot()})
	case completed, incompleted:
		f.emit(event{Type: "response." + f.r.Status, Response: f.snapshot()})
	}
}
