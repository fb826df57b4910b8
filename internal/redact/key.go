package redact

import "strings"

// A class is a set of bytes.
type class func(byte) bool

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
func isAlnum(c byte) bool { return isDigit(c) || isLower(c) || isUpper(c) }
func isURLSafe(c byte) bool {
	return isAlnum(c) || c == '-' || c == '_'
}
func isHex(c byte) bool      { return isDigit(c) || 'a' <= c && c <= 'f' }
func isPathByte(c byte) bool { return isURLSafe(c) || c == '/' }
func isDotted(c byte) bool   { return isURLSafe(c) || c == '.' }
func isBase64(c byte) bool   { return isAlnum(c) || c == '+' || c == '/' || c == '=' }

type shape struct {
	prefix         string
	class          class // of the part after the prefix
	minLen, maxLen int   // length of that part; a zero maximum means no limit
	kind           Kind
}

// keyShapes returns the known formats by the documentation of their providers, longer prefixes first.
func keyShapes() []shape {
	return []shape{
		// Models.
		{"sk-ant-", isURLSafe, 20, 0, APIKey},  // Anthropic
		{"sk-or-v1-", isHex, 32, 0, APIKey},    // OpenRouter
		{"sk-proj-", isURLSafe, 20, 0, APIKey}, // OpenAI
		{"sk-svcacct-", isURLSafe, 20, 0, APIKey},
		{"sk-admin-", isURLSafe, 20, 0, APIKey},
		{"sk-", isAlnum, 20, 0, APIKey}, // OpenAI, DeepSeek, Moonshot
		{"sk-", isURLSafe, 40, 0, APIKey},
		{"AIza", isURLSafe, 35, 35, APIKey},
		{"gsk_", isAlnum, 32, 0, APIKey},
		{"xai-", isAlnum, 40, 0, APIKey},
		{"hf_", isAlnum, 30, 0, APIKey},
		{"r8_", isAlnum, 30, 0, APIKey},
		{"pplx-", isAlnum, 32, 0, APIKey},
		{"nvapi-", isURLSafe, 40, 0, APIKey},
		{"csk-", isAlnum, 32, 0, APIKey},
		{"fw_", isAlnum, 20, 0, APIKey},
		{"tgp_v1_", isURLSafe, 30, 0, APIKey},
		// Search.
		{"tvly-", isURLSafe, 20, 0, APIKey},
		{"BSA", isURLSafe, 26, 29, APIKey},
		// Code and clouds.
		{"github_pat_", isURLSafe, 22, 0, Token},
		{"ghp_", isAlnum, 30, 0, Token}, {"gho_", isAlnum, 30, 0, Token}, {"ghu_", isAlnum, 30, 0, Token},
		{"ghs_", isAlnum, 30, 0, Token}, {"ghr_", isAlnum, 30, 0, Token},
		{"glpat-", isURLSafe, 20, 0, Token}, {"gldt-", isURLSafe, 20, 0, Token}, {"glrt-", isURLSafe, 20, 0, Token}, {"glptt-", isURLSafe, 20, 0, Token},
		{"npm_", isAlnum, 36, 36, Token},
		{"pypi-AgE", isURLSafe, 50, 0, Token},
		{"AKIA", isAlnum, 16, 16, APIKey}, {"ASIA", isAlnum, 16, 16, APIKey}, {"ABIA", isAlnum, 16, 16, APIKey}, {"ACCA", isAlnum, 16, 16, APIKey},
		{"ya29.", isURLSafe, 30, 0, Token}, // Google
		{"GOCSPX-", isURLSafe, 20, 0, APIKey},
		{"dop_v1_", isHex, 64, 64, Token},
		{"dapi", isHex, 32, 34, Token}, // Databricks
		{"dp.pt.", isAlnum, 30, 0, Token}, {"dp.st.", isDotted, 30, 0, Token},
		{"hvs.", isURLSafe, 24, 0, Token}, {"hvb.", isURLSafe, 24, 0, Token}, // Vault
		{"lin_api_", isAlnum, 30, 0, APIKey},
		{"ntn_", isAlnum, 30, 0, Token},
		{"AGE-SECRET-KEY-1", isAlnum, 40, 0, PrivateKey},
		// Chat, mail and payment.
		{"xoxb-", isURLSafe, 10, 0, Token}, {"xoxp-", isURLSafe, 10, 0, Token}, {"xoxa-", isURLSafe, 10, 0, Token},
		{"xoxr-", isURLSafe, 10, 0, Token}, {"xoxs-", isURLSafe, 10, 0, Token}, {"xoxe.", isDotted, 20, 0, Token}, {"xoxe-", isURLSafe, 10, 0, Token},
		{"xapp-", isURLSafe, 20, 0, Token},
		{"hooks.slack.com/services/", isPathByte, 20, 0, Token},
		{"discord.com/api/webhooks/", isPathByte, 40, 0, Token},
		{"SG.", isDotted, 40, 0, APIKey},
		{"sk_live_", isAlnum, 16, 0, APIKey}, {"sk_test_", isAlnum, 16, 0, APIKey},
		{"rk_live_", isAlnum, 16, 0, APIKey}, {"rk_test_", isAlnum, 16, 0, APIKey},
		{"whsec_", isBase64, 20, 0, APIKey},
		{"shpat_", isHex, 32, 0, Token}, {"shpss_", isHex, 32, 0, Token}, {"shpca_", isHex, 32, 0, Token},
	}
}

// byFirst holds the shapes by first byte. It is immutable.
var byFirst = func() (table [256][]shape) {
	for _, s := range keyShapes() {
		table[s.prefix[0]] = append(table[s.prefix[0]], s)
	}
	return table
}()

// findKeys returns keys and tokens of known providers that start at a word boundary.
func findKeys(text string) (spans []span) {
	for i := 0; i < len(text); {
		if i > 0 && isAlnum(text[i-1]) || !isAlnum(text[i]) {
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
			if end, skip = s.matchEnd(text, i+len(s.prefix)); end > 0 {
				return s.kind, end, 0
			}
			if skip > 0 {
				return "", 0, skip
			}
		}
	}
	if strings.HasPrefix(text[i:], "eyJ") {
		if end, skip = jwtEnd(text, i); end > 0 {
			return Token, end, 0
		}
		return "", 0, skip
	}
	if end = twoPart(text, i, isHex, 32, 32, '.', isAlnum, 16); end > 0 {
		return APIKey, end, 0 // Z.ai
	}
	if end = twoPart(text, i, isDigit, 8, 10, ':', isURLSafe, 35); end > 0 {
		return Token, end, 0 // Telegram
	}
	return "", 0, 0
}

// matchEnd returns the end of the key, or 0. Text without a digit is a name; no key starts before
// skip.
func (s shape) matchEnd(text string, from int) (end, skip int) {
	end = runEnd(text, from, s.class, s.maxLen)
	if end-from < s.minLen || s.maxLen > 0 && end-from > s.maxLen {
		return 0, 0
	}
	for i := from; i < end; i++ {
		if isDigit(text[i]) {
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

// jwtEnd returns the end of a JSON web token at i: three to five parts separated by dots. Otherwise
// it returns the end of the first part as skip.
func jwtEnd(text string, i int) (end, skip int) {
	var ends []int
	for at := i; len(ends) < 5; {
		e := runEnd(text, at, isURLSafe, 0)
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
