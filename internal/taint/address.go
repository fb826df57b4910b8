package taint

import (
	"net/url"
	"regexp"
	"strings"
)

// addressPattern finds addresses in the text of a user: with a scheme, or a host name with a
// top-level domain of letters.
var addressPattern = regexp.MustCompile(`(?i)\bhttps?://[^\s<>"'` + "`" + `]+|\b(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}(?::\d{1,5})?(?:/[^\s<>"'` + "`" + `]*)?`)

// FindAddresses returns the web addresses in a text of the user.
func FindAddresses(text string) (list []string) {
	for _, a := range addressPattern.FindAllString(text, -1) {
		a = strings.TrimRight(a, ".,;:!?…*_~|\\")
		for closing, opening := range map[string]string{")": "(", "]": "[", "}": "{"} {
			for strings.HasSuffix(a, closing) && strings.Count(a, closing) > strings.Count(a, opening) {
				a = strings.TrimRight(strings.TrimSuffix(a, closing), ".,;:!?")
			}
		}
		if !strings.Contains(a, "://") {
			a = "https://" + a
		}
		list = append(list, a)
	}
	return list
}

// Normalize returns an address in a form for comparison, or "" if it is no web address. Only
// whole addresses are equal: the same host, port, path and query. The scheme, the fragment, which
// stays on the machine, and one slash at the end make no difference.
func Normalize(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Opaque != "" || u.User != nil || u.Host == "" || !strings.EqualFold(u.Scheme, "http") && !strings.EqualFold(u.Scheme, "https") {
		return ""
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if port := u.Port(); port != "" && port != "80" && port != "443" {
		host += ":" + port
	}
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	if u.RawQuery != "" || u.ForceQuery {
		path += "?" + u.RawQuery
	}
	return host + path
}

// IsKnown reports whether the user wrote an address or a search returned it.
func (c Context) IsKnown(address string) bool {
	a := Normalize(address)
	if a == "" {
		return false
	}
	for _, known := range c.Addresses {
		if known == a {
			return true
		}
	}
	return false
}
