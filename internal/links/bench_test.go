package links

import (
	"strings"
	"testing"
)

const prose = "The engine folds an event, and asks each run for its next action. See [the log](https://known.example/a?x=1), `code`, and\nthe figure 3.14 in (parentheses): it **has** no address! Then 1. a list, and https://mine.example/page.\n\n"

func BenchmarkText(b *testing.B) {
	p := newKnown(sourceText, userText)
	for name, text := range map[string]string{
		"prose": strings.Repeat(prose, 100), "code": "```\n" + strings.Repeat("if a < b { return http://evil.example }\n", 500) + "```\n",
		"links": strings.Repeat("[x](http://evil.example/1) ", 500), "brackets": strings.Repeat("![a](", 3000), "parentheses": strings.Repeat("[a](", 3000),
		"autolinks": strings.Repeat("<http://a", 2000), "backticks": strings.Repeat("`a``", 3000), "angles": strings.Repeat("<a ", 3000), "colons": strings.Repeat("a://", 3000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Text(text, p)
			}
		})
	}
	b.Run("pieces", func(b *testing.B) {
		text := strings.Repeat(prose, 100)
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			byPieces(text, p, func() int { return 4 })
		}
	})
}
