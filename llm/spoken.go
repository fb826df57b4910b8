package llm

import (
	"encoding/json"
	"slices"
	"strings"
)

// An aside is what models write before their answer where a server does not keep it
// apart: reasoning, or the names of channels and turns. It ends with its own end; one
// that has but a beginning is a mark.
type aside struct{ begin, end string }

// asides are those of DeepSeek, Qwen and most others, of Mistral, OpenThinker, Kimi, and
// of OpenAI's harmony.
var asides = []aside{
	{"<think>", "</think>"}, {"<thinking>", "</thinking>"}, {"<reasoning>", "</reasoning>"}, {"[THINK]", "[/THINK]"},
	{"<|begin_of_thought|>", "<|end_of_thought|>"}, {"◁think▷", "◁/think▷"},
	{"<|channel|>analysis", "<|channel|>final"}, {"<|channel|>commentary", "<|channel|>final"}, {begin: "<|channel|>final"},
	{begin: "<|constrain|>json"}, {begin: "<|message|>"}, {begin: "<|start|>assistant"}, {begin: "<|im_start|>assistant"},
}

// ends are what models write behind their answer: the ends of turns.
var ends = []string{
	"<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<|return|>", "<|endoftext|>", "<|end_of_text|>", "<|end_of_turn|>", "<end_of_turn>", "<|EOT|>",
	"<｜end▁of▁sentence｜>", "<eos>", "</s>",
}

// Aside tells whether text begins with something that is no part of an answer, such as
// reasoning in <think> tags: then that ends with the next end, which may be in what Aside
// was given already. If it may be the beginning of such a thing, more has to be heard.
func Aside(text string) (end string, more bool) {
	text = strings.TrimLeft(text, " \t\r\n")
	for _, a := range asides {
		if strings.HasPrefix(text, a.begin) {
			if a.end == "" {
				return a.begin, false
			}
			return a.end, false
		}
		more = more || strings.HasPrefix(a.begin, text)
	}
	return "", more
}

// Spoken returns what of a model's text is its answer: without the reasoning before it,
// and without the marks of channels and turns around it. It is empty if there is nothing
// but reasoning. The end of reasoning whose beginning a template has swallowed counts only
// where it stands as an end does, and not where an answer speaks of it.
func Spoken(text string) string {
	if isBare(text) || json.Valid([]byte(text)) {
		return text
	}
	return unframed(text)
}

// isBare reports whether a text is an object, as it seems, that neither has anything around
// it nor the end of reasoning in it, as most answers are: then nothing is taken from it.
func isBare(text string) bool {
	if !strings.HasPrefix(text, "{") || !strings.HasSuffix(text, "}") {
		return false
	}
	return !slices.ContainsFunc(asides, func(a aside) bool { return a.end != "" && strings.Contains(text, a.end) })
}

// unframed is Spoken of a text that is more than JSON.
func unframed(text string) string {
	for {
		end, _ := Aside(text)
		if end == "" {
			break
		}
		_, text, _ = strings.Cut(text, end)
	}
	text = strings.TrimSpace(text[loneEnd(text):])
	for cut := true; cut; {
		cut = false
		for _, end := range ends {
			if rest, ok := strings.CutSuffix(text, end); ok {
				text, cut = strings.TrimSpace(rest), true
			}
		}
	}
	return text
}

// loneEnd returns where text goes on behind reasoning that only ends in it, or 0.
func loneEnd(text string) int {
	for _, a := range asides {
		i := strings.LastIndex(text, a.end)
		if a.end == "" || i < 0 || strings.Contains(text[:i], a.begin) {
			continue
		}
		after := text[i+len(a.end):]
		alone := i == 0 || text[i-1] == '\n'
		if rest := strings.TrimLeft(after, " \t\r"); alone || rest == "" || strings.IndexByte("\n{[", rest[0]) >= 0 {
			return i + len(a.end)
		}
	}
	return 0
}
