package evidence

import (
	"net/url"
	"strings"
)

// An address is where a page is, as far as pages are told apart by it.
type address struct {
	host   string // lower case, without www
	path   string // without a slash at the end
	query  string
	secure bool
}

// addressOf reads the address of a page, and says whether it is one. Fragments do not
// count, and http and https are one.
func addressOf(raw string) (a address, ok bool) {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return a, false
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	return address{
		host: strings.TrimPrefix(host, "www."), path: strings.TrimRight(u.EscapedPath(), "/"), query: u.RawQuery, secure: u.Scheme == "https",
	}, true
}

// page names the page, the same for all places in it.
func (a address) page() string { return a.host + a.path + "?" + a.query }

// nowhere reports whether the address stands for a page whose own is not known: no
// host can have such a name (RFC 2606).
func (a address) nowhere() bool { return strings.HasSuffix(a.host, ".invalid") }

// under reports whether a host is a domain, or below it. A domain that begins with a
// dot is the end of one.
func under(host, domain string) bool {
	return host == domain || strings.HasSuffix(host, domain) && (domain[0] == '.' || strings.HasSuffix(host, "."+domain))
}

// site returns the domain that somebody registered: the last two parts of a host, or
// three where a country has parts of its own ("co.uk").
func site(host string) string {
	parts := strings.Split(host, ".")
	n := 2
	if k := len(parts); k > 2 && len(parts[k-1]) == 2 {
		switch parts[k-2] {
		case "co", "com", "org", "net", "gov", "gob", "gouv", "govt", "ac", "edu", "or", "ne", "go", "nhs":
			n = 3
		}
	}
	return strings.Join(parts[max(0, len(parts)-n):], ".")
}
