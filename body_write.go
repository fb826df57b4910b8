package ponder

import (
	"strconv"

	"ponder/llm"
)

// What is written most often writes itself, as package json would write it;
// TestWrittenAsPackageJSONDoes compares the two. The rest is left to package json.

// An appender is a body that writes its data by itself.
type appender interface{ appendTo(w *jsonWriter) }

func (b Thought) appendTo(w *jsonWriter) {
	w.b = strconv.AppendInt(append(w.b, `{"sequence_number":`...), int64(b.Number), 10)
	w.b = appendText(append(w.b, `,"thought_type":`...), b.Kind)
	w.b = append(w.b, `,"confidence":`...)
	w.decimal(b.Confidence)
	w.float("importance", b.Importance)
	w.text("focus", b.Focus)
	w.text("question_id", b.Question)
	w.texts("cites", b.Cites)
	w.texts("contradicts", b.Against)
	w.flag("without_model", b.Unaided)
	w.flag("confidence_assumed", b.Assumed)
	w.offset(b.Offset)
}

func (b SubQuestion) appendTo(w *jsonWriter) {
	w.b = appendText(append(w.b, `{"question_id":`...), b.ID)
	w.text("parent_id", b.Parent)
	w.b = strconv.AppendInt(append(w.b, `,"priority":`...), int64(b.Priority), 10)
	w.text("why", b.Why)
	w.text("by", b.By)
	w.flag("without_model", b.Unaided)
	w.offset(b.Offset)
}

// offset writes the last field of many bodies, and ends the object.
func (w *jsonWriter) offset(seconds float64) {
	w.b = append(w.b, `,"time_offset_seconds":`...)
	w.decimal(seconds)
	w.b = append(w.b, '}')
}

func (b QuestionUpdated) appendTo(w *jsonWriter) {
	w.b = appendText(append(w.b, `{"question_id":`...), b.ID)
	w.number("priority", int64(b.Priority))
	w.flag("explored", b.Explored)
	w.flag("dropped", b.Dropped)
	w.text("insights_gained", b.Insights)
	w.b = append(w.b, '}')
}

func (b Progress) appendTo(w *jsonWriter) {
	w.b = append(w.b, '{')
	w.text("stage", b.Stage)
	w.text("label", b.Label)
	w.number("plan_step", int64(b.Step))
	w.number("total_steps", int64(b.Total))
	w.number("iteration", int64(b.Iteration))
	w.float("confidence", b.Confidence)
	w.raw("metadata", b.Meta)
	w.text("ref", b.Ref)
	w.flag("refused", b.Refused)
	w.texts("cancelled", b.Cancelled)
	if len(b.Thoughts) > 0 {
		w.name("thoughts")
		w.value(b.Thoughts)
	}
	w.b = append(w.b, '}')
}

func (b CallStarted) appendTo(w *jsonWriter) {
	w.b = appendText(append(w.b, `{"model_role":`...), string(b.Role))
	w.text("mode", b.Mode)
	w.number("request_bytes", int64(b.Size))
	w.cost("held", b.Held)
	w.b = append(w.b, '}')
}

func (b CallFinished) appendTo(w *jsonWriter) {
	w.b = append(w.b, '{')
	if b.Message.Role != "" || b.Message.Parts != nil {
		w.name("message")
		w.message(b.Message)
	}
	w.text("finish", string(b.Finish))
	w.cost("spent", b.Spent)
	w.text("price", string(b.Price))
	w.number("took_ms", b.Took)
	if b.Outcome == (Outcome{}) {
		w.b = append(w.b, '}')
		return
	}
	w.fields(b.Outcome)
}

func (w *jsonWriter) cost(name string, c Cost) {
	if c == (Cost{}) {
		return
	}
	w.name(name)
	w.b = append(w.b, '{')
	w.number("calls", int64(c.Calls))
	w.number("tokens", int64(c.Tokens))
	w.number("micro_usd", int64(c.Money))
	w.b = append(w.b, '}')
}

func (w *jsonWriter) usage(u *llm.Usage) {
	w.b = strconv.AppendInt(append(w.b, `{"input":`...), int64(u.Input), 10)
	w.number("cache_read", int64(u.CacheRead))
	w.number("cache_write", int64(u.CacheWrite))
	w.b = strconv.AppendInt(append(w.b, `,"output":`...), int64(u.Output), 10)
	w.number("reasoning", int64(u.Reasoning))
	if u.Cost != nil {
		w.b = strconv.AppendInt(append(w.b, `,"cost":`...), *u.Cost, 10)
	}
	w.flag("estimated", u.Estimated)
	w.flag("hedged", u.Hedged)
	w.b = append(w.b, '}')
}

// request writes a request as the ledger keeps it.
func (w *jsonWriter) request(req *llm.Request) {
	w.b = append(w.b, '{')
	w.text("system", req.System)
	w.name("messages")
	w.messages(req.Messages)
	if len(req.Tools) > 0 {
		w.name("tools")
		w.value(req.Tools)
	}
	w.text("tool_choice", req.ToolChoice)
	if req.Schema != nil {
		w.b = appendText(append(w.b, `,"schema":{"name":`...), req.Schema.Name)
		w.b = append(w.b, `,"schema":`...)
		w.schema(req.Schema.JSON)
		w.b = append(w.b, '}')
	}
	w.number("max_tokens", int64(req.MaxTokens))
	if req.Temperature != nil {
		w.name("temperature")
		w.decimal(*req.Temperature)
	}
	w.text("effort", req.Effort)
	w.flag("cache", req.Cache)
	w.flag("background", req.Background)
	w.flag("hedge", req.Hedge)
	w.b = append(w.b, '}')
}

func (w *jsonWriter) messages(all []llm.Message) {
	if all == nil {
		w.b = append(w.b, "null"...)
		return
	}
	w.b = append(w.b, '[')
	for i, m := range all {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.message(m)
	}
	w.b = append(w.b, ']')
}

// message writes a message; most have nothing but one text.
func (w *jsonWriter) message(m llm.Message) {
	if len(m.Parts) != 1 || m.Parts[0].Text == "" || m.Parts[0] != (llm.Part{Text: m.Parts[0].Text}) {
		w.value(m)
		return
	}
	w.b = appendText(append(w.b, `{"role":`...), string(m.Role))
	w.b = appendText(append(w.b, `,"parts":[{"text":`...), m.Parts[0].Text)
	w.b = append(w.b, `}]}`...)
}
