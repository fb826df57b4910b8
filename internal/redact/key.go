package redact

import "strings"

// A class is a set of bytes.
type class func(byte) bool

func digit(c byte) bool { return '0' <= c && c <= '9' }
func lower(c byte) bool { return 'a' <= c && c <= 'z' }
func upper(c byte) bool { return 'A' <= c && c <= 'Z' }
func alnum(c byte) bool { return digit(c) || lower(c) || upper(c) }
func urlish(c byte) bool {
	return alnum(c) || c == '-' || c == '_'
}
func hex(c byte) bool       { return digit(c) || 'a' <= c && c <= 'f' }
func path(c byte) bool      { return urlish(c) || c == '/' }
func dotted(c byte) bool    { return urlish(c) || c == '.' }
func base64ish(c byte) bool { return alnum(c) || c == '+' || c == '/' || c == '=' }

type shape struct {
	prefix         string
	class          class // of the part after the prefix
	minLen, maxLen int   // length of that part; a zero maximum means no limit
	kind           Kind
}

// shapes returns the known formats by the documentation of their providers, longer prefixes first.
func shapes() []shape {
	return []shape{
		// Models.
		{"sk-ant-", urlish, 20, 0, APIKey},  // Anthropic
		{"sk-or-v1-", hex, 32, 0, APIKey},   // OpenRouter
		{"sk-proj-", urlish, 20, 0, APIKey}, // OpenAI
		{"sk-svcacct-", urlish, 20, 0, APIKey},
		{"sk-admin-", urlish, 20, 0, APIKey},
		{"sk-", alnum, 20, 0, APIKey}, // OpenAI, DeepSeek, Moonshot
		{"sk-", urlish, 40, 0, APIKey},
		{"AIza", urlish, 35, 35, APIKey},
		{"gsk_", alnum, 32, 0, APIKey},
		{"xai-", alnum, 40, 0, APIKey},
		{"hf_", alnum, 30, 0, APIKey},
		{"r8_", alnum, 30, 0, APIKey},
		{"pplx-", alnum, 32, 0, APIKey},
		{"nvapi-", urlish, 40, 0, APIKey},
		{"csk-", alnum, 32, 0, APIKey},
		{"fw_", alnum, 20, 0, APIKey},
		{"tgp_v1_", urlish, 30, 0, APIKey},
		// Search.
		{"tvly-", urlish, 20, 0, APIKey},
		{"BSA", urlish, 26, 29, APIKey},
		// Code and clouds.
		{"github_pat_", urlish, 22, 0, Token},
		{"ghp_", alnum, 30, 0, Token}, {"gho_", alnum, 30, 0, Token}, {"ghu_", alnum, 30, 0, Token},
		{"ghs_", alnum, 30, 0, Token}, {"ghr_", alnum, 30, 0, Token},
		{"glpat-", urlish, 20, 0, Token}, {"gldt-", urlish, 20, 0, Token}, {"glrt-", urlish, 20, 0, Token}, {"glptt-", urlish, 20, 0, Token},
		{"npm_", alnum, 36, 36, Token},
		{"pypi-AgE", urlish, 50, 0, Token},
		{"AKIA", alnum, 16, 16, APIKey}, {"ASIA", alnum, 16, 16, APIKey}, {"ABIA", alnum, 16, 16, APIKey}, {"ACCA", alnum, 16, 16, APIKey},
		{"ya29.", urlish, 30, 0, Token}, // Google
		{"GOCSPX-", urlish, 20, 0, APIKey},
		{"dop_v1_", hex, 64, 64, Token},
		{"dapi", hex, 32, 34, Token}, // Databricks
		{"dp.pt.", alnum, 30, 0, Token}, {"dp.st.", dotted, 30, 0, Token},
		{"hvs.", urlish, 24, 0, Token}, {"hvb.", urlish, 24, 0, Token}, // Vault
		{"lin_api_", alnum, 30, 0, APIKey},
		{"ntn_", alnum, 30, 0, Token},
		{"AGE-SECRET-KEY-1", alnum, 40, 0, PrivateKey},
		// Chat, mail and payment.
		{"xoxb-", urlish, 10, 0, Token}, {"xoxp-", urlish, 10, 0, Token}, {"xoxa-", urlish, 10, 0, Token},
		{"xoxr-", urlish, 10, 0, Token}, {"xoxs-", urlish, 10, 0, Token}, {"xoxe.", dotted, 20, 0, Token}, {"xoxe-", urlish, 10, 0, Token},
		{"xapp-", urlish, 20, 0, Token},
		{"hooks.slack.com/services/", path, 20, 0, Token},
		{"discord.com/api/webhooks/", path, 40, 0, Token},
		{"SG.", dotted, 40, 0, APIKey},
		{"sk_live_", alnum, 16, 0, APIKey}, {"sk_test_", alnum, 16, 0, APIKey},
		{"rk_live_", alnum, 16, 0, APIKey}, {"rk_test_", alnum, 16, 0, APIKey},
		{"whsec_", base64ish, 20, 0, APIKey},
		{"shpat_", hex, 32, 0, Token}, {"shpss_", hex, 32, 0, Token}, {"shpca_", hex, 32, 0, Token},
	}
}

// byFirst holds the shapes by first byte. It is immutable.
var byFirst = func() (table [256][]shape) {
	for _, s := range shapes() {
		table[s.prefix[0]] = append(table[s.prefix[0]], s)
	}
	return table
}()

// keys returns keys and tokens of known providers that start at a word boundary.
func keys(text string) (spans []span) {
	for i := 0; i < len(text); {
		if i > 0 && alnum(text[i-1]) || !alnum(text[i]) {
			i++
			continue
		}
		kind, end, skip := keyAt(text, i, byFirst[text[i]])
		if kind != "" {
			spans = append(spans, span{i, end, kind})
		}
		i = max(i+1, end, skip)
	}
	return spans
}

// keyAt returns the kind and end of a key at i, or the position before which no key starts.
func keyAt(text string, i int, list []shape) (kind Kind, end, skip int) {
	for _, s := range list {
		if strings.HasPrefix(text[i:], s.prefix) {
			if end, skip = s.match(text, i+len(s.prefix)); end > 0 {
				return s.kind, end, 0
			}
			if skip > 0 {
				return "", 0, skip
			}
		}
	}
	if strings.HasPrefix(text[i:], "eyJ") {
		if end, skip = jwt(text, i); end > 0 {
			return Token, end, 0
		}
		return "", 0, skip
	}
	if end = twoPart(text, i, hex, 32, 32, '.', alnum, 16); end > 0 {
		return APIKey, end, 0 // Z.ai
	}
	if end = twoPart(text, i, digit, 8, 10, ':', urlish, 35); end > 0 {
		return Token, end, 0 // Telegram
	}
	return "", 0, 0
}

// match returns the end of the key, or 0. Text without a digit is a name; no key starts before
// skip.
func (s shape) match(text string, from int) (end, skip int) {
	end = runEnd(text, from, s.class, s.maxLen)
	if end-from < s.minLen || s.maxLen > 0 && end-from > s.maxLen {
		return 0, 0
	}
	for i := from; i < end; i++ {
		if digit(text[i]) {
			return end, 0
		}
	}
	return 0, end
}

// runEnd returns the end of a run of bytes in of, at most maxLen+1 bytes; a zero maxLen means no
// limit.
func runEnd(text string, from int, of class, maxLen int) int {
	end := from
	for end < len(text) && of(text[end]) && (maxLen == 0 || end-from <= maxLen) {
		end++
	}
	return end
}

// jwt returns the end of a JSON web token at i: three to five parts separated by dots. Otherwise
// it returns the end of the first part as skip.
func jwt(text string, i int) (end, skip int) {
	var ends []int
	for at := i; len(ends) < 5; {
		e := runEnd(text, at, urlish, 0)
		ends = append(ends, e)
		if e == len(text) || text[e] != '.' {
			break
		}
		at = e + 1
	}
	if len(ends) < 3 || ends[0]-i < 10 || ends[1]-ends[0] < 4 {
		return 0, ends[0]
	}
	return ends[len(ends)-1], 0
}

// twoPart returns the end of a key with two runs and a separator, or 0.
func twoPart(text string, i int, a class, minLen, maxLen int, between byte, b class, n int) int {
	end := runEnd(text, i, a, maxLen)
	if end-i < minLen || end-i > maxLen || end == len(text) || text[end] != between {
		return 0
	}
	last := runEnd(text, end+1, b, n)
	if last-end-1 != n {
		return 0
	}
	return last
}
