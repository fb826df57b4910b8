package llm

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// An outputResult is all that a reader makes of a text.
type outputResult struct{ reasoning, text, calls string }

// readOutput reads text in pieces. It checks that the returned pieces agree with the parts.
func readOutput(t *testing.T, cfg OutputConfig, text string, cut bool, size func() int) outputResult {
	t.Helper()
	r := NewOutputReader(cfg)
	var shown, thought strings.Builder
	for rest := text; rest != ""; {
		n := max(1, min(size(), len(rest)))
		reasoning, text := r.Add(rest[:n])
		thought.WriteString(reasoning)
		shown.WriteString(text)
		rest = rest[n:]
	}
	reasoning, last := r.Close(cut)
	thought.WriteString(reasoning)
	shown.WriteString(last)
	var got outputResult
	for _, p := range r.SplitParts([]Part{{Text: text}}) {
		got.reasoning += p.Reasoning
		got.text += p.Text
		if p.Call != nil {
			got.calls += p.Call.Name + string(p.Call.Input) + " "
		}
	}
	if shown.String() != got.text && !r.Retracts() {
		t.Errorf("%q: returned text %q, but the parts have %q", text, shown.String(), got.text)
	}
	if !strings.Contains(thought.String(), got.reasoning) && !r.Retracts() && !cfg.Hold && !cfg.Open {
		t.Errorf("%q: returned reasoning %q, but the parts have %q", text, thought.String(), got.reasoning)
	}
	return got
}

func sizes() map[string]func() int {
	rnd := rand.New(rand.NewPCG(1, 2))
	return map[string]func() int{
		"whole": func() int { return 1 << 20 }, "bytes": func() int { return 1 }, "twos": func() int { return 2 }, "threes": func() int { return 3 },
		"sevens": func() int { return 7 }, "random": func() int { return 1 + rnd.IntN(20) },
	}
}

func checkOutput(t *testing.T, cfg OutputConfig, text string, cut bool, want outputResult) {
	t.Helper()
	for name, size := range sizes() {
		got := readOutput(t, cfg, text, cut, size)
		got.text, got.reasoning, got.calls = strings.TrimSpace(got.text), strings.TrimSpace(got.reasoning), strings.TrimSpace(got.calls)
		if got != want {
			t.Errorf("in pieces of %s: %q:\n got %q\nwant %q", name, text, got, want)
			return
		}
	}
}

const (
	why    = "I should add them."
	answer = "Four it is."
)

// reasoningForms has the forms of reasoning before an answer.
var reasoningForms = []string{
	"<think>WHY</think>ANSWER", "<think>\nWHY\n</think>\n\nANSWER", "\n <think>WHY</think> ANSWER", "<THINK>WHY</THINK>\nANSWER", "<Thinking>WHY</Thinking>ANSWER",
	"<thinking>WHY</thinking>ANSWER", "<thought>WHY</thought>ANSWER", "<thought>\nWHY\n</thought>\n\nANSWER", "<reasoning>WHY</reasoning> ANSWER", "<thoughts>WHY</thoughts>ANSWER",
	"[THINK]WHY[/THINK]ANSWER", "[think]WHY[/think]\nANSWER", "◁think▷WHY◁/think▷ANSWER", "<|begin_of_thought|>WHY<|end_of_thought|>ANSWER",
	"<|begin_of_thought|>\nWHY\n<|end_of_thought|>\n<|begin_of_solution|>\nANSWER\n<|end_of_solution|>",
	"<seed:think>WHY</seed:think>ANSWER", "<mm:think>WHY</mm:think>ANSWER", "<think:opensource>WHY</think:opensource>ANSWER",
	"<|START_THINKING|>WHY<|END_THINKING|><|START_RESPONSE|>ANSWER<|END_RESPONSE|>", "<|START_THINKING|>WHY<|END_THINKING|><|START_TEXT|>ANSWER<|END_TEXT|>",
	"<|channel>thought\nWHY<channel|>ANSWER", "<|channel>thought\nWHY<channel|>ANSWER<turn|>", "<unused94>thought\nWHY<unused95>ANSWER",
	"<|open|>think<|sep|>WHY<|close|>think<|sep|><|open|>response<|sep|>ANSWER<|close|>response<|sep|><|close|>message<|sep|><|end_of_msg|>",
	"<|inner_prefix|>WHY<|inner_suffix|>ANSWER<|assistant_end|>", "<|content_thinking|>WHY<|end_message|><|message_model|><|content_text|>ANSWER<|end_message|>",
	"<think>\nWHY\n</think>\n<answer>\nANSWER\n</answer>", "Here is my thought process: WHY Here is my response: ANSWER", "Here are my reasoning steps:\nWHY\n[BEGIN FINAL RESPONSE]\nANSWER",
	"WHY\n</think>\n\nANSWER", "WHY</think>ANSWER", "WHY </think> ANSWER", "WHY\n</thinking>\nANSWER", "WHY[/THINK]ANSWER", "WHY</mm:think>ANSWER", "WHY</seed:think>\nANSWER", "WHY◁/think▷ANSWER",
	"WHY<|END_THINKING|><|START_RESPONSE|>ANSWER<|END_RESPONSE|>", "WHY\n</THINK>\nANSWER", "WHY<|close|>think<|sep|><|open|>response<|sep|>ANSWER<|close|>response<|sep|>",
	"<think></think>\n<think>WHY</think>ANSWER", "<think>WHY</think>\n</think>\n\nANSWER", "<think>\n<think>WHY</think>ANSWER", "</think>\n<think>WHY</think>ANSWER",
	"<think>WHY\n```\n<b>\n```\n</think>ANSWER", "<think>WHY `</think>` is the end.\n</think>\nANSWER", "<think>WHY It ends with </think> and the answer.</think>ANSWER",
	"<|channel|>analysis<|message|>WHY<|end|><|start|>assistant<|channel|>final<|message|>ANSWER<|return|>", "<|channel|>analysis<|message|>WHY<|channel|>final<|message|>ANSWER",
	"<|start|>assistant<|channel|>analysis<|message|>WHY<|end|>\n<|start|>assistant<|channel|>final<|message|>ANSWER<|end|>", "analysisWHYassistantfinalANSWER", "analysisWHYassistantfinal\n\nANSWER",
	"<|channel|>analysisWHY<|end|><|start|>assistant<|channel|>finalANSWER", "assistantanalysisWHYassistantfinalANSWER", "<|CHANNEL|>analysis<|MESSAGE|>WHY<|END|><|START|>assistant<|CHANNEL|>final<|MESSAGE|>ANSWER",
	"<|channel|>commentary<|message|>WHY<|end|><|start|>assistant<|channel|>final<|message|>ANSWER", "<|im_start|>assistant\n<think>WHY</think>\nANSWER<|im_end|>",
	"to=self<|message|>WHY<|eom|><|start|>assistant to=user<|message|>ANSWER<|eot|>",
	"<think>WHY\n<answer>ANSWER</answer>",
	"<longcat_think>WHY</longcat_think>ANSWER", "WHY\n</longcat_think>\nANSWER", "<|think:start|>WHY<|think:end|>ANSWER", "WHY<|think:end|>ANSWER",
	"[unused16]WHY[unused17]ANSWER", "<|plamo:begin_think:plamo|>WHY<|plamo:end_think:plamo|>ANSWER<|plamo:tag|>",
}

func TestOutputReasoning(t *testing.T) {
	for _, form := range reasoningForms {
		if strings.HasPrefix(form, "to=self") {
			continue // without its start, words of any text
		}
		text := strings.NewReplacer("WHY", why, "ANSWER", answer).Replace(form)
		for _, cfg := range []OutputConfig{{}, {Hold: true}, {Hold: true, Tools: addTools}} {
			for name, size := range sizes() {
				got := readOutput(t, cfg, text, false, size)
				if strings.TrimSpace(got.text) != answer || !strings.Contains(got.reasoning, "add them") || got.calls != "" {
					t.Errorf("%+v in pieces of %s: %q: got %q", cfg.Hold, name, text, got)
					break
				}
			}
		}
	}
}

var addTools = []Tool{
	{Name: "think", Schema: json.RawMessage(`{"type":"object","properties":{"thought":{"type":"string"}}}`)},
	{Name: "add", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"number"},"note":{"type":"string"},"list":{"type":"array"},"fast":{"type":"boolean"}}}`)},
	{Name: "get_time"},
}

func TestOutputReader(t *testing.T) {
	for _, tt := range []struct {
		name, in        string
		cfg             OutputConfig
		cut             bool
		reasoning, text string
	}{
		{name: "nothing"},
		{name: "plain", in: "hello", text: "hello"},
		{name: "inline", in: "Sure. <think>WHY</think> It is four.", reasoning: "WHY", text: "Sure.  It is four."},
		{name: "inline, glued", in: "The sum is<think>Two and two.</think> four.", reasoning: "Two and two.", text: "The sum is four."},
		{name: "after the answer", in: "Four it is.\n<think>\nIs it?\n</think>\nYes.", reasoning: "Is it?", text: "Four it is.\nYes."},
		{name: "never closed", in: "<think>a </thin", reasoning: "a </thin"},
		{name: "never closed, after the answer", in: "Four.\n<think>\nHm", reasoning: "Hm", text: "Four."},
		{name: "doubtful, never closed", in: "Models open with the <think> before they answer.", text: "Models open with the <think> before they answer."},
		{name: "a tag as subject", in: "<think> is a tag of templates.", text: "<think> is a tag of templates."},
		{name: "tags as subject", in: "<think> and </think> are tags of templates.", text: "<think> and </think> are tags of templates."},
		{name: "tags in a sentence", in: "Models write <think> and then </think> before the answer.", text: "Models write <think> and then </think> before the answer."},
		{name: "an end in a sentence", in: "Models write </think> when they are done.", text: "Models write </think> when they are done."},
		{name: "a pair as a name", in: "Put it in the <think>...</think> block.", text: "Put it in the <think>...</think> block."},
		{name: "in code", in: "So:\n```\n<think>\nHm.\n</think>\n```\nDone.", text: "So:\n```\n<think>\nHm.\n</think>\n```\nDone."},
		{name: "in tildes", in: "So:\n~~~xml\n<think>Hm.</think>\n~~~\nDone.", text: "So:\n~~~xml\n<think>Hm.</think>\n~~~\nDone."},
		{name: "in marks", in: "It ends with `</think>`\nand goes on.", text: "It ends with `</think>`\nand goes on."},
		{name: "pair in marks", in: "Use `<think>Hm.</think>` here, or ``[THINK]``.", text: "Use `<think>Hm.</think>` here, or ``[THINK]``."},
		{name: "in quotes", in: `You wrote "<think>Hm.</think>" and “[THINK]a[/THINK]”.`, text: `You wrote "<think>Hm.</think>" and “[THINK]a[/THINK]”.`},
		{name: "in a quotation", in: "You wrote:\n> <think>Hm.</think>\n> Four.\n\nI see.", text: "You wrote:\n> <think>Hm.</think>\n> Four.\n\nI see."},
		{name: "in JSON", in: `{"a":"<think>b</think>"}`, text: `{"a":"<think>b</think>"}`},
		{name: "in JSON with quotes", in: `{"a":"say \"hm\" <think>b</think>"}`, text: `{"a":"say \"hm\" <think>b</think>"}`},
		{name: "indented code", in: "So:\n\n    <think>Hm.</think>\n\nDone.", text: "So:\n\n    <think>Hm.</think>\n\nDone."},
		{name: "harmony in code", in: "It writes `<|channel|>final<|message|>` first.", text: "It writes `<|channel|>final<|message|>` first."},
		{name: "tags of a document", in: "<thought type=\"a\">b</thought>", text: "<thought type=\"a\">b</thought>"},
		{name: "other tags", in: "<b>think</b> <thick> a < b [think again]", text: "<b>think</b> <thick> a < b [think again]"},
		{name: "almost closed", in: "<think>a<</think</think>b", reasoning: "a<</think", text: "b"},
		{name: "no reasoning", in: "<think>\n\n</think>\n\nyes", reasoning: "", text: "yes"},
		{name: "only an end, and no more", in: "Four.\n</think>", text: "Four."},
		{name: "only an end, held", in: "Four.</think>\n", cfg: OutputConfig{Hold: true}, text: "Four."},
		{name: "only an end after a long text", in: strings.Repeat("It is four. ", 60) + "</think>", cfg: OutputConfig{Hold: true}, text: strings.TrimSpace(strings.Repeat("It is four. ", 60))},
		{name: "only an end after data", in: `{"sum":4}</think>`, cfg: OutputConfig{Hold: true, Verbatim: true}, text: `{"sum":4}`},
		{name: "only ends", in: "Four.</think>\n</think>", text: "Four."},
		{name: "the second end is the last", in: "It is two.</think>Four.</think>", reasoning: "It is two.", text: "Four."},
		{name: "only an end, cut", in: "Four.</think>", cut: true, reasoning: "Four."},
		{name: "only an end after self-talk", in: "I should add them.</think>", cfg: OutputConfig{Hold: true}, reasoning: "I should add them."},
		{name: "only an end, opened by the template", in: "Four.</think>", cfg: OutputConfig{Open: true}, reasoning: "Four."},
		{name: "opened by the template", in: "why</think>because", cfg: OutputConfig{Open: true}, reasoning: "why", text: "because"},
		{name: "opened by the template, without reasoning", in: "because", cfg: OutputConfig{Open: true}, text: "because"},
		{name: "opened by the template, cut", in: "why is", cfg: OutputConfig{Open: true}, cut: true, reasoning: "why is"},
		{name: "self-talk that is the answer", in: "I should say: four.", cfg: OutputConfig{Hold: true}, text: "I should say: four."},
		{name: "long self-talk that is the answer", in: "I should explain. " + strings.Repeat("It is four. ", 60), cfg: OutputConfig{Hold: true}, text: strings.TrimSpace("I should explain. " + strings.Repeat("It is four. ", 60))},
		{name: "long reasoning without a start", in: "The user asks. " + strings.Repeat("It is four. ", 60) + "\n</think>\nFour.", cfg: OutputConfig{Hold: true}, reasoning: strings.TrimSpace("The user asks. " + strings.Repeat("It is four. ", 60)), text: "Four."},
		{name: "late end", in: strings.Repeat("It is four. ", 60) + "\n</think>\nFour.", cfg: OutputConfig{Hold: true}, reasoning: strings.TrimSpace(strings.Repeat("It is four. ", 60)), text: "Four."},
		{name: "harmony without an answer", in: "<|channel|>analysis<|message|>Hm.<|end|>", reasoning: "Hm."},
		{name: "a preamble that is the answer", in: "<|channel|>commentary<|message|>Four.<|end|>", text: "Four."},
		{name: "end of a turn", in: "It is salt.<|im_end|>\n<|endoftext|>\n", cfg: OutputConfig{Hold: true}, text: "It is salt."},
		{name: "end of a turn within", in: "It ends with <|im_end|> always.", text: "It ends with <|im_end|> always."},
		{name: "strike", in: "<s>old</s>", text: "<s>old</s>"},
		{name: "words like harmony", in: "analysis of the final answer: assistantfinally", text: "analysis of the final answer: assistantfinally"},
		{name: "a sentence on tool calls", in: "Models write <tool_call> and </tool_call> around a call.", text: "Models write <tool_call> and </tool_call> around a call."},
		{name: "a call in code", in: "Write:\n```xml\n<tool_call>\n{\"name\": \"think\", \"arguments\": {}}\n</tool_call>\n```", cfg: OutputConfig{Tools: addTools}, text: "Write:\n```xml\n<tool_call>\n{\"name\": \"think\", \"arguments\": {}}\n</tool_call>\n```"},
		{name: "a call in a quotation", in: "The page says:\n> <tool_call>{\"name\": \"think\", \"arguments\": {}}</tool_call>\nI ignore it.", cfg: OutputConfig{Tools: addTools}, text: "The page says:\n> <tool_call>{\"name\": \"think\", \"arguments\": {}}</tool_call>\nI ignore it."},
		{name: "a call in a long quotation", in: "The page says: \"Ignore that.\n<tool_call>{\"name\": \"think\", \"arguments\": {}}</tool_call>\nNow.\" I ignore it.", cfg: OutputConfig{Tools: addTools}, text: "The page says: \"Ignore that.\n<tool_call>{\"name\": \"think\", \"arguments\": {}}</tool_call>\nNow.\" I ignore it."},
		{name: "a call in a long quotation of another language", in: "Dort steht: „\n<tool_call>{\"name\": \"think\", \"arguments\": {}}</tool_call>\n“", cfg: OutputConfig{Tools: addTools}, text: "Dort steht: „\n<tool_call>{\"name\": \"think\", \"arguments\": {}}</tool_call>\n“"},
		{name: "a doubtful call with wrong arguments", in: "Models write <tool_call>{\"name\": \"add\", \"arguments\": {\"a\": \"x\"}}</tool_call> and so on.", cfg: OutputConfig{Tools: addTools}, text: "Models write <tool_call>{\"name\": \"add\", \"arguments\": {\"a\": \"x\"}}</tool_call> and so on."},
		{name: "JSON that is no call", in: `{"name": "Bob", "age": 3}`, cfg: OutputConfig{Tools: addTools}, text: `{"name": "Bob", "age": 3}`},
		{name: "JSON without tools", in: `{"name": "think", "arguments": {}}`, text: `{"name": "think", "arguments": {}}`},
		{name: "a list", in: `[1, 2]`, cfg: OutputConfig{Tools: addTools}, text: `[1, 2]`},
		{name: "a Markdown link", in: `[add](http://x) it`, cfg: OutputConfig{Tools: addTools}, text: `[add](http://x) it`},
		{name: "a stray start of calls", in: "<tool_call>\nFour it is.", cfg: OutputConfig{Tools: addTools}, text: "Four it is."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checkOutput(t, tt.cfg, tt.in, tt.cut, outputResult{reasoning: tt.reasoning, text: tt.text})
		})
	}
}

func TestOutputCalls(t *testing.T) {
	const addThem = `think{"thought":"add them"}`
	for _, tt := range []struct{ name, in, calls, text string }{
		{"Hermes", "<tool_call>\n{\"name\": \"think\", \"arguments\": {\"thought\":\"add them\"}}\n</tool_call>", addThem, ""},
		{"Hermes, two", "<tool_call>{\"name\":\"think\",\"arguments\":{\"thought\":\"add them\"}}</tool_call>\n<tool_call>{\"name\":\"add\",\"arguments\":{\"a\":1}}</tool_call>", addThem + ` add{"a":1}`, ""},
		{"Hermes without an end", "I add.\n<tool_call>\n{\"name\": \"think\", \"arguments\": {\"thought\":\"add them\"}}", addThem, "I add."},
		{"Hermes in capitals", "<TOOL_CALL>{\"name\": \"think\", \"arguments\": {\"thought\":\"add them\"}}</TOOL_CALL>", addThem, ""},
		{"the end in the arguments", `<tool_call>{"name": "think", "arguments": {"thought":"</tool_call>"}}</tool_call>`, `think{"thought":"</tool_call>"}`, ""},
		{"text arguments", `<tool_call>{"name": "think", "arguments": "{\"thought\":\"add them\"}"}</tool_call>`, addThem, ""},
		{"Hunyuan list", `<tool_calls>[{"name": "think", "arguments": {"thought":"add them"}}]</tool_calls>`, addThem, ""},
		{"Hunyuan", "<tool_calls>\n<tool_call>think<tool_sep>\n<arg_key>thought</arg_key>\n<arg_value>add them</arg_value>\n</tool_call>\n</tool_calls>", addThem, ""},
		{"GLM", "<tool_call>think\n<arg_key>thought</arg_key>\n<arg_value>add them</arg_value>\n</tool_call>", addThem, ""},
		{"GLM, glued", "<tool_call>add<arg_key>a</arg_key><arg_value>1</arg_value><arg_key>note</arg_key><arg_value>7</arg_value></tool_call>", `add{"a":1,"note":"7"}`, ""},
		{"LongCat", "<longcat_tool_call>think\n<longcat_arg_key>thought</longcat_arg_key>\n<longcat_arg_value>add them</longcat_arg_value>\n</longcat_tool_call>", addThem, ""},
		{"Qwen coder", "<tool_call>\n<function=think>\n<parameter=thought>\nadd them\n</parameter>\n</function>\n</tool_call>", addThem, ""},
		{"Qwen coder without its block", "<function=add>\n<parameter=a>\n1\n</parameter>\n<parameter=fast>\nTrue\n</parameter>\n</function>", `add{"a":1,"fast":true}`, ""},
		{"Qwen coder, code in it", "<tool_call>\n<function=think>\n<parameter=thought>\nif a < b && c > d { <b> }\n</parameter>\n</function>\n</tool_call>", `think{"thought":"if a \u003c b \u0026\u0026 c \u003e d { \u003cb\u003e }"}`, ""},
		{"Seed", "<seed:tool_call>\n<function=think>\n<parameter=thought>add them</parameter>\n</function>\n</seed:tool_call>", addThem, ""},
		{"MiniMax", "<minimax:tool_call>\n<invoke name=\"think\">\n<parameter name=\"thought\">add them</parameter>\n</invoke>\n</minimax:tool_call>", addThem, ""},
		{"MiniMax M3", "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"think\">]<]minimax[>[<thought>add them]<]minimax[>[</thought>]<]minimax[>[</invoke>]<]minimax[>[</tool_call>", addThem, ""},
		{"function calls", "<function_calls>\n<invoke name=\"think\">\n<parameter name=\"thought\">add them</parameter>\n</invoke>\n</function_calls>", addThem, ""},
		{"DeepSeek DSML", "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"add\">\n<｜DSML｜parameter name=\"note\" string=\"true\">5</｜DSML｜parameter>\n<｜DSML｜parameter name=\"a\" string=\"false\">5</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>", `add{"a":5,"note":"5"}`, ""},
		{"DeepSeek V3", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>think\n```json\n{\"thought\":\"add them\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>", addThem, ""},
		{"DeepSeek V3.1", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>think<｜tool▁sep｜>{\"thought\":\"add them\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", addThem, ""},
		{"Kimi K2", "<|tool_calls_section_begin|><|tool_call_begin|>functions.think:0<|tool_call_argument_begin|>{\"thought\":\"add them\"}<|tool_call_end|><|tool_call_begin|>functions.add:1<|tool_call_argument_begin|>{\"a\":1}<|tool_call_end|><|tool_calls_section_end|>", addThem + ` add{"a":1}`, ""},
		{"Kimi K3", "<|open|>tools<|sep|><|open|>call tool=\"think\" index=\"0\"<|sep|><|open|>argument key=\"thought\" type=\"string\"<|sep|>add them<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|>", addThem, ""},
		{"Mistral list", `[TOOL_CALLS][{"name": "think", "arguments": {"thought":"add them"}}]`, addThem, ""},
		{"Mistral names", `[TOOL_CALLS]think[ARGS]{"thought":"add them"}[TOOL_CALLS]add[CALL_ID]x1[ARGS]{"a":1}`, addThem + ` add{"a":1}`, ""},
		{"Mistral, glued", `[TOOL_CALLS]think{"thought":"add them"}</s>`, addThem, ""},
		{"Llama", `<|python_tag|>{"name": "think", "parameters": {"thought":"add them"}}<|eom_id|>`, addThem, ""},
		{"Llama, two", `<|python_tag|>{"name": "think", "parameters": {"thought":"add them"}}; {"name": "add", "parameters": {"a":1}}`, addThem + ` add{"a":1}`, ""},
		{"Llama, Python", `<|python_tag|>think.call(thought="add them")`, addThem, ""},
		{"Llama function", `<function=think>{"thought":"add them"}</function>`, addThem, ""},
		{"bare JSON", `{"name": "think", "parameters": {"thought":"add them"}}`, addThem, ""},
		{"bare JSON with a type", `{"type": "function", "name": "think", "parameters": {"thought":"add them"}}<|eot_id|>`, addThem, ""},
		{"bare list", `[{"name": "think", "arguments": {"thought":"add them"}}]`, addThem, ""},
		{"bare JSON of another tool", `{"name": "sing", "parameters": {"song":"x"}}`, "", ""},
		{"pythonic", `[think(thought="add them"), add(a=1, list=['x', "y,)"], fast=True, note=None)]`, addThem + ` add{"a":1,"fast":true,"list":["x","y,)"],"note":null}`, ""},
		{"pythonic without a list", `think(thought='add them')`, addThem, ""},
		{"LFM2", `<|tool_call_start|>[think(thought="add them")]<|tool_call_end|>`, addThem, ""},
		{"OLMo", "<function_calls>\nthink(thought=\"add them\")\n</function_calls>", addThem, ""},
		{"Granite", `<|tool_call|>[{"name": "think", "arguments": {"thought":"add them"}}]`, addThem, ""},
		{"Phi", `<|tool_call|>[{"name": "think", "arguments": {"thought":"add them"}}]<|/tool_call|>`, addThem, ""},
		{"Nemotron", `<TOOLCALL>[{"name": "think", "arguments": {"thought":"add them"}}]</TOOLCALL>`, addThem, ""},
		{"Cohere", `<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "think", "parameters": {"thought":"add them"}}]<|END_ACTION|>`, addThem, ""},
		{"InternLM", "<|action_start|><|plugin|>\n{\"name\": \"think\", \"parameters\": {\"thought\":\"add them\"}}<|action_end|>", addThem, ""},
		{"Apertus", `<|tools_prefix|>[{"think": {"thought":"add them"}}]<|tools_suffix|>`, addThem, ""},
		{"Gemma 4", `<|tool_call>call:add{note:<|"|>say "x", {y}<|"|>,a:42,fast:true}<tool_call|>`, `add{"note":"say \"x\", {y}","a":42,"fast":true}`, ""},
		{"FunctionGemma", "<start_function_call>call:think{thought:<escape>add them<escape>}<end_function_call>", addThem, ""},
		{"Gemma 3", "```tool_code\nprint(think(thought=\"add them\"))\n```", addThem, ""},
		{"LM Studio", `[TOOL_REQUEST]{"name": "think", "arguments": {"thought":"add them"}}[END_TOOL_REQUEST]`, addThem, ""},
		{"Functionary", `<function=think>{"thought":"add them"}</function><function=add>{"a":1}</function>`, addThem + ` add{"a":1}`, ""},
		{"harmony", `<|channel|>commentary to=functions.think <|constrain|>json<|message|>{"thought":"add them"}<|call|>`, addThem, ""},
		{"harmony after reasoning", `<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.think json<|message|>{"thought":"add them"}<|call|>`, addThem, ""},
		{"harmony in the role", `<|start|>assistant to=functions.think<|channel|>commentary<|constrain|>json<|message|>{"thought":"add them"}`, addThem, ""},
		{"harmony, stripped", `analysisI should add.assistantcommentary to=functions.think json{"thought":"add them"}`, addThem, ""},
		{"harmony with a preamble", `<|channel|>commentary<|message|>I add.<|end|><|start|>assistant<|channel|>commentary to=functions.think<|message|>{"thought":"add them"}<|call|>`, addThem, ""},
		{"after reasoning", "<think>Hm.</think>\n<tool_call>{\"name\": \"think\", \"arguments\": {\"thought\":\"add them\"}}</tool_call>", addThem, ""},
		{"in reasoning that does not end", "<think>Hm.\n<tool_call>{\"name\": \"think\", \"arguments\": {\"thought\":\"add them\"}}</tool_call>", addThem, ""},
		{"in reasoning that ends", "<think>Hm.\n<tool_call>{\"name\": \"think\", \"arguments\": {\"thought\":\"add them\"}}</tool_call>\n</think>\nFour.", "", "Four."},
		{"another tool", "Wait.\n<tool_call>{\"name\": \"sing\", \"arguments\": {}}</tool_call>\nFour.", "", "Wait.\nFour."},
		{"in a line", `I add: <tool_call>{"name": "think", "arguments": {"thought":"add them"}}</tool_call>`, addThem, "I add:"},
		{"after a quotation", "The page says: \"Add\nthem.\"\n<tool_call>{\"name\": \"think\", \"arguments\": {\"thought\":\"add them\"}}</tool_call>", addThem, "The page says: \"Add\nthem.\""},
		{"after inches", "A 5\" pipe.\n<tool_call>{\"name\": \"think\", \"arguments\": {\"thought\":\"add them\"}}</tool_call>", addThem, "A 5\" pipe."},
		{"invalid arguments", `<tool_call>{"name": "think", "arguments": {thought: 'add them',}}</tool_call>`, addThem, ""},
		{"no arguments", `<tool_call>{"name": "get-time"}</tool_call>`, `get_time{}`, ""},
		{"Solar, unknown body", "Wait.\n<|tool_call:start|>think\n<|tool_arg:start|>add them<|tool_call:end|>\nFour.", "", "Wait.\nFour."},
		{"nonsense", "<tool_call>{{{</tool_call>\nFour.", "", "Four."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, cfg := range []OutputConfig{{Tools: addTools}, {Tools: addTools, Hold: true}} {
				for name, size := range sizes() {
					got := readOutput(t, cfg, tt.in, false, size)
					if strings.TrimSpace(got.calls) != tt.calls || strings.TrimSpace(got.text) != tt.text {
						t.Errorf("hold %v, in pieces of %s: %q\n got %q\nwant %q and %q", cfg.Hold, name, tt.in, got, tt.calls, tt.text)
						break
					}
				}
			}
			got := readOutput(t, OutputConfig{}, tt.in, false, func() int { return 5 })
			if got.calls != "" || strings.Contains(got.text, "tool_call") || strings.Contains(got.text, "add them") && !strings.Contains(tt.name, "bare") && !strings.Contains(tt.name, "pythonic") {
				t.Errorf("without tools: %q", got)
			}
		})
	}
}

// A call of which the end is missing because the answer broke off is not made.
func TestOutputCutCalls(t *testing.T) {
	for _, in := range []string{
		`<tool_call>{"name": "think", "arguments": {"thought":"add`, `<tool_call><function=think><parameter=thought>add`, `[TOOL_CALLS]think{"thought":"ad`, `{"name": "think", "arguments": {"thought":"add`,
		`<|channel|>commentary to=functions.think<|message|>{"thought":"ad`,
	} {
		got := readOutput(t, OutputConfig{Tools: addTools}, in, true, func() int { return 4 })
		if got.calls != "" {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func ExampleOutputReader() {
	r := NewOutputReader(OutputConfig{Tools: []Tool{{Name: "add"}}})
	for _, piece := range []string{"<thi", "nk>Two and two?</think>I ", "add.\n<tool_call>", `{"name":"add","arguments":{"a":2,"b":2}}</tool_call>`} {
		reasoning, text := r.Add(piece)
		fmt.Printf("%q %q\n", reasoning, text)
	}
	r.Close(false)
	fmt.Println(r.Calls()[0].Name, string(r.Calls()[0].Input))
	// Output:
	// "" ""
	// "Two and two?" "I "
	// "" "add.\n"
	// "" ""
	// add {"a":2,"b":2}
}

// FuzzOutputReader checks that the result does not depend on the pieces, and that no text is
// lost or made up.
func FuzzOutputReader(f *testing.F) {
	for _, form := range reasoningForms {
		f.Add(form, uint64(1), uint8(1))
	}
	for _, text := range []string{"<think> is <think> a </think> b\n</think>c", "`<think>", "[TOOL_CALLS]x[", "analysisAassistantcommentary to=think json{}", "]<]minimax[>[<tool_call>", "<|open|>tools<|sep|>", "{\"name\":", "[think(", "```tool_code\n"} {
		f.Add(text, uint64(2), uint8(7))
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64, flags uint8) {
		cfg := OutputConfig{Open: flags&1 != 0, Hold: flags&2 != 0}
		if flags&4 != 0 {
			cfg.Tools = addTools
		}
		cut := flags&8 != 0
		whole := readOutput(t, cfg, text, cut, func() int { return len(text) })
		rnd := rand.New(rand.NewPCG(seed, 0))
		pieces := readOutput(t, cfg, text, cut, func() int { return 1 + rnd.IntN(5) })
		if whole != pieces {
			t.Errorf("%q, flags %d:\nwhole  %q\npieces %q", text, flags, whole, pieces)
		}
		if !isSubsequence(whole.text, text) || !isSubsequence(whole.reasoning, text) {
			t.Errorf("%q: made up %q", text, whole)
		}
	})
}

func isSubsequence(part, whole string) bool {
	i := 0
	for j := 0; i < len(part) && j < len(whole); j++ {
		if part[i] == whole[j] {
			i++
		}
	}
	return i == len(part)
}
