package redact

import (
	"slices"
	"strconv"
	"strings"
)

// findCards returns card numbers: 13 to 19 digits, in one or in usual groups, of a known issuer, with
// a valid check digit.
func findCards(text string) (spans []span) {
	for i := 0; i < len(text); i++ {
		if !isDigit(text[i]) || !isNumberStart(text, i) {
			continue
		}
		if end := cardAt(text, i); end > 0 {
			spans = append(spans, span{i, end, Card})
			i = end
		}
	}
	return spans
}

// isNumberStart reports whether a number may start at i.
func isNumberStart(text string, i int) bool {
	if i == 0 {
		return true
	}
	c := text[i-1]
	return !isAlnum(c) && c != '_' && (c != '.' && c != ',' || i < 2 || !isDigit(text[i-2]))
}

// cardAt returns the end of a card number at i, or 0.
func cardAt(text string, i int) (end int) {
	var digits []byte
	var groups []int
	var between byte
	for at := i; ; {
		stop := runEnd(text, at, isDigit, 19)
		digits = append(digits, text[at:stop]...)
		groups = append(groups, stop-at)
		if stop < len(text) && (isAlnum(text[stop]) || text[stop] == '_') || len(digits) > 19 {
			return end
		}
		if hasCardGroups(groups) && hasIssuer(digits) && hasValidLuhn(digits) {
			end = stop
		}
		if stop+1 >= len(text) || text[stop] != ' ' && text[stop] != '-' || between != 0 && text[stop] != between || !isDigit(text[stop+1]) {
			return end
		}
		between, at = text[stop], stop+1
	}
}

// hasCardGroups reports whether the digits form usual groups.
func hasCardGroups(groups []int) bool {
	if len(groups) == 1 || slices.Equal(groups, []int{4, 6, 5}) || slices.Equal(groups, []int{4, 6, 4}) {
		return true
	}
	for _, n := range groups[:len(groups)-1] {
		if n != 4 {
			return false
		}
	}
	return groups[len(groups)-1] <= 4 && len(groups) >= 4
}

// hasIssuer reports whether an issuer uses such numbers.
func hasIssuer(d []byte) bool {
	n := len(d)
	if n < 13 {
		return false
	}
	four, _ := strconv.Atoi(string(d[:4]))
	two, three := four/100, four/10
	switch {
	case four/1000 == 4:
		return n == 13 || n == 16 || n == 19
	case 51 <= two && two <= 55, 2221 <= four && four <= 2720:
		return n == 16
	case two == 34, two == 37:
		return n == 15
	case two == 36, two == 38, two == 39, 300 <= three && three <= 305:
		return n == 14 || n == 16
	case four == 6011, 644 <= three && three <= 659, two == 62, 3528 <= four && four <= 3589:
		return n >= 16
	case two == 50, 56 <= two && two <= 58, two == 63, two == 67:
		return n >= 16 // Maestro; shorter ones match too many numbers
	}
	return false
}

// hasValidLuhn reports whether the check digit is valid.
func hasValidLuhn(d []byte) bool {
	sum := 0
	for i := range d {
		v := int(d[len(d)-1-i] - '0')
		if i%2 == 1 {
			if v *= 2; v > 9 {
				v -= 9
			}
		}
		sum += v
	}
	return sum%10 == 0
}

const ibanLengths = "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BR29BY28CH21CR22CY28CZ24DE22DK18DO28EE20EG29ES24FI18FO18FR27GB22GE22GI23GL18GR27" +
	"GT28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32LI21LT20LU20LV21LY25MC27MD24ME22MK19MR27MT31MU30NL18NO15PK24PL28PS29PT25" +
	"QA29RO24RS22SA24SC31SE24SI19SK24SM27ST25SV28TL23TN24TR26UA29VA22VG24XK20"

func findAccounts(text string) (spans []span) {
	for i := 0; i+4 < len(text); i++ {
		if !isUpper(text[i]) || !isUpper(text[i+1]) || !isDigit(text[i+2]) || !isDigit(text[i+3]) || i > 0 && (isAlnum(text[i-1]) || text[i-1] == '_') {
			continue
		}
		if end := accountAt(text, i); end > 0 {
			spans = append(spans, span{i, end, IBAN})
			i = end
		}
	}
	return spans
}

// accountAt returns the end of an IBAN at i, or 0.
func accountAt(text string, i int) int {
	want := 0
	for at := 0; at < len(ibanLengths); at += 4 {
		if strings.HasPrefix(text[i:], ibanLengths[at:at+2]) {
			want, _ = strconv.Atoi(ibanLengths[at+2 : at+4])
		}
	}
	var n []byte
	at := i
	for ; at < len(text) && len(n) < want; at++ {
		switch c := text[at]; {
		case isDigit(c), isUpper(c):
			n = append(n, c)
		case c == ' ' && len(n)%4 == 0 && text[at-1] != ' ':
		default:
			return 0
		}
	}
	if want == 0 || len(n) < want || at < len(text) && isAlnum(text[at]) || !hasValidMod97(n) {
		return 0
	}
	return at
}

// hasValidMod97 reports whether the check digits are valid.
func hasValidMod97(n []byte) bool {
	rest := 0
	for i := range n {
		c := n[(i+4)%len(n)]
		if isDigit(c) {
			rest = (rest*10 + int(c-'0')) % 97
		} else {
			rest = (rest*100 + int(c-'A') + 10) % 97
		}
	}
	return rest == 1
}

// findEmails returns e-mail addresses.
func findEmails(text string) (spans []span) {
	const maxLocal = 64
	for i := 0; i < len(text); i++ {
		if text[i] != '@' {
			continue
		}
		from := i
		for from > 0 && i-from < maxLocal && (isAlnum(text[from-1]) || strings.IndexByte("._%+-", text[from-1]) >= 0) {
			from--
		}
		to := runEnd(text, i+1, func(c byte) bool { return isAlnum(c) || c == '-' || c == '.' }, 255)
		for to > i+1 && !isAlnum(text[to-1]) {
			to--
		}
		dot := strings.LastIndexByte(text[i+1:to], '.')
		if from == i || dot <= 0 || to-(i+1+dot+1) < 2 || strings.ContainsAny(text[i+2+dot:to], "0123456789-") {
			continue
		}
		spans = append(spans, span{from, to, Email})
		i = to - 1
	}
	return spans
}
