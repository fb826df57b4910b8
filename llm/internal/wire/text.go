package wire

import (
	"bytes"
	"encoding/json"
	"math/bits"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"ponder/internal/textkit"
	"ponder/llm"
)

const hexDigits = "0123456789abcdef"

// AppendText encodes a long text as [Body] does.
func AppendText(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0 // start of the rest
	for i := 0; i < len(s); {
		if i+8 <= len(s) {
			plain := plainBytes(s[i : i+8])
			if i += plain; plain == 8 {
				continue
			}
		}
		c, size := s[i], 1
		if c >= utf8.RuneSelf {
			var r rune
			r, size = utf8.DecodeRuneInString(s[i:])
			if r != '\u2028' && r != '\u2029' && (r != utf8.RuneError || size > 1) {
				i += size
				continue
			}
			b = appendRune(append(b, s[from:i]...), r)
		} else if c >= ' ' && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&' {
			i++
			continue
		} else {
			b = appendEscape(append(b, s[from:i]...), c)
		}
		i += size
		from = i
	}
	return append(append(b, s[from:]...), '"')
}

// appendRune replaces an invalid rune, or escapes U+2028 or U+2029, which JavaScript
// rejects.
func appendRune(b []byte, r rune) []byte {
	if r == utf8.RuneError {
		return utf8.AppendRune(b, r)
	}
	return append(b, '\\', 'u', '2', '0', '2', hexDigits[r&0xf])
}

func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\b':
		return append(b, `\b`...)
	case '\f':
		return append(b, `\f`...)
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}

// plainBytes counts leading bytes of eight that JSON leaves as they are and that are
// ASCII. The first special byte, and perhaps later ones, gets its high bit set.
func plainBytes(s string) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	_ = s[7]
	v := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	special := v | (v - ones*' ')
	special |= (v ^ ones*'"') - ones
	special |= (v ^ ones*'\\') - ones
	special |= (v ^ ones*'&') - ones
	special |= ((v &^ (ones * 2)) ^ ones*'<') - ones // and '>', which differs in one bit
	return bits.TrailingZeros64(special&tops) / 8
}

// Body encodes a request's body with the same bytes for a stored request. It escapes raw
// JSON as the store does and replaces invalid UTF-8 as a round trip through JSON does.
func Body(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, &llm.Error{Class: llm.BadRequest, Message: "cannot write the request as JSON: " + textkit.VisibleLine(err.Error(), maxMessage), Err: err}
	}
	return replaceEscape(data, []byte(`\ufffd`), "\uFFFD"), nil
}

// Text returns JSON for models: compact, without escapes of <, > and &, independent of
// storage. Invalid JSON becomes "{}".
func Text(raw json.RawMessage) string {
	data, err := Body(raw)
	if err != nil {
		return "{}"
	}
	for _, e := range []struct{ escape, by string }{{`\u003c`, "<"}, {`\u003e`, ">"}, {`\u0026`, "&"}} {
		data = replaceEscape(data, []byte(e.escape), e.by)
	}
	return string(data)
}

// replaceEscape replaces an escape, unless its backslash is escaped.
func replaceEscape(data, escape []byte, by string) []byte {
	at := bytes.Index(data, escape)
	if at < 0 {
		return data
	}
	out := make([]byte, 0, len(data))
	for at >= 0 {
		slashes := 0
		for slashes < at && data[at-slashes-1] == '\\' {
			slashes++
		}
		out = append(out, data[:at]...)
		if slashes%2 == 0 {
			out = append(out, by...)
		} else {
			out = append(out, escape...)
		}
		data = data[at+len(escape):]
		at = bytes.Index(data, escape)
	}
	return append(out, data...)
}

const maxMessage = 400

const redacted = "[redacted]"

func secretKeys(header http.Header) (keys []string) {
	for k, values := range header {
		switch strings.ToLower(k) {
		case "authorization", "proxy-authorization", "api-key", "x-api-key", "x-goog-api-key":
			for _, v := range values {
				if _, after, ok := strings.Cut(v, " "); ok {
					v = after // after Bearer
				}
				if v != "" {
					keys = append(keys, v)
				}
			}
		}
	}
	return keys
}

// isSecret reports whether a key may be one. A short key or a dummy, such as "none" or
// "not-needed", is not: errors have its words.
func isSecret(key string) bool {
	const short = 6
	words := strings.FieldsFunc(strings.ToLower(key), func(r rune) bool { return r == '-' || r == '_' || r == ' ' })
	return len(key) >= short && slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(dummyWords, w) })
}

// dummyWords are the words of keys for servers that need none, and those of errors.
var dummyWords = strings.Fields("a access account an anthropic any anything api apikey bearer changeme cpp default demo dummy empty error " +
	"example fake for free here ignored insert invalid is key litellm llama llamacpp llm lm lmstudio local localhost mistral missing mock model my needed " +
	"no nokey none not nothing null ollama openai optional or password placeholder proxy request required secret server " +
	"sglang sk studio test testing tgi the token undefined unused user vllm xxx your")

func redact(s string, keys []string) string {
	for _, k := range keys {
		if isSecret(k) {
			s = strings.ReplaceAll(s, k, redacted)
		}
	}
	var b strings.Builder
	for s != "" {
		i := strings.IndexFunc(s, isKeyRune)
		if i < 0 {
			break
		}
		b.WriteString(s[:i])
		s = s[i:]
		n := strings.IndexFunc(s, func(r rune) bool { return !isKeyRune(r) })
		if n < 0 {
			n = len(s)
		}
		if looksSecret(s[:n]) {
			b.WriteString(redacted)
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String() + s
}

func isKeyRune(r rune) bool {
	return r == '-' || r == '_' || r == '*' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// looksSecret reports whether a word looks like a vendor's key.
func looksSecret(word string) bool {
	if len(word) < 12 {
		return false
	}
	return slices.ContainsFunc([]string{"sk-", "sk_", "gsk_", "xai-", "AIza", "hf_", "pk-", "r8_", "nvapi-", "csk-"}, func(prefix string) bool {
		return strings.HasPrefix(word, prefix)
	})
}
