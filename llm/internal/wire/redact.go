package wire

import (
	"net/http"
	"slices"
	"strings"
)

// maxMessage bounds the text of an error, in bytes.
const maxMessage = 400

const redacted = "[redacted]"

// secrets returns the values in a request's header that must not be shown.
func secrets(header http.Header) (keys []string) {
	for k, values := range header {
		switch strings.ToLower(k) {
		case "authorization", "proxy-authorization", "api-key", "x-api-key", "x-goog-api-key":
			for _, v := range values {
				if _, after, ok := strings.Cut(v, " "); ok {
					v = after // Bearer
				}
				if v != "" {
					keys = append(keys, v)
				}
			}
		}
	}
	return keys
}

// shortKey is the length of keys, in bytes, that are taken out wherever they stand; of
// those that are shorter, like the "x" that servers without keys are given, only where they
// are a word.
const shortKey = 6

// redact takes keys out of a line: those given, and words that look like one.
func redact(s string, keys []string) string {
	for _, k := range keys {
		if len(k) >= shortKey {
			s = strings.ReplaceAll(s, k, redacted)
		}
	}
	var b strings.Builder
	for s != "" {
		i := strings.IndexFunc(s, keyRune)
		if i < 0 {
			break
		}
		b.WriteString(s[:i])
		s = s[i:]
		n := strings.IndexFunc(s, func(r rune) bool { return !keyRune(r) })
		if n < 0 {
			n = len(s)
		}
		if looksSecret(s[:n]) || slices.Contains(keys, s[:n]) {
			b.WriteString(redacted)
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String() + s
}

func keyRune(r rune) bool {
	return r == '-' || r == '_' || r == '*' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// looksSecret reports whether a word begins as vendors' keys do and is as long.
func looksSecret(word string) bool {
	if len(word) < 12 {
		return false
	}
	return slices.ContainsFunc([]string{"sk-", "sk_", "gsk_", "xai-", "AIza", "hf_", "pk-", "r8_", "nvapi-", "csk-"}, func(prefix string) bool {
		return strings.HasPrefix(word, prefix)
	})
}
