package lookup

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"ponder/internal/textkit"
)

// Address returns s if it is a web URL safe to show and fetch, or "".
func Address(s string) string {
	if len(s) > maxURL || s != textkit.OneLine(s) || strings.ContainsAny(s, " <>\"`") {
		return ""
	}
	if u := parseWebURL(s); u == nil {
		return ""
	}
	return s
}

func parseWebURL(text string) *url.URL {
	if !strings.HasPrefix(text, "http://") && !strings.HasPrefix(text, "https://") {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil {
		return nil
	}
	return u
}

// SameAddress reports whether two web URLs are equal in all components. URLs with user info are
// never equal.
func SameAddress(a, b string) bool {
	one := canonicalURL(a)
	return one != "" && one == canonicalURL(b)
}

func canonicalURL(s string) string {
	u, err := url.Parse(s)
	if err != nil || len(s) > maxURL || u.Hostname() == "" || u.User != nil {
		return ""
	}
	port := u.Port()
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return ""
	case u.Scheme == "http" && port == "80", u.Scheme == "https" && port == "443":
		port = ""
	}
	where := u.EscapedPath()
	if where == "" {
		where = "/"
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port + where + "?" + u.RawQuery + "#" + u.EscapedFragment()
}

// HostOf returns the host of a URL, or of a name that may be a host, in lower case without "www.",
// or "".
func HostOf(name string) string {
	if u := parseWebURL(name); u != nil {
		return bareHost(u.Hostname())
	}
	if strings.Contains(name, ".") && !isFileName(name) && !strings.ContainsAny(name, "/\\ :@") && !strings.HasPrefix(name, ".") && !strings.HasSuffix(name, ".") {
		return bareHost(name)
	}
	return ""
}

func isFileName(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".txt", ".pdf", ".html", ".htm", ".doc", ".docx", ".odt", ".epub", ".xlsx", ".csv", ".tsv", ".json", ".jsonl", ".mbox", ".eml", ".go", ".py", ".js", ".rs", ".sh":
		return true
	}
	return false
}

func bareHost(host string) string { return strings.TrimPrefix(strings.ToLower(host), "www.") }

// HostsOf returns the hosts of web sources.
func HostsOf(names []string) (hosts []string) {
	for _, name := range names {
		if host := HostOf(name); host != "" {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// Denotes reports whether name denotes source: by equality, a parent folder, a file name, a parent URL
// or a host.
func Denotes(source, name string) bool {
	clean := path.Clean(source)
	if source == name || clean == path.Clean(name) || strings.HasPrefix(clean, strings.TrimSuffix(path.Clean(name), "/")+"/") || path.Base(clean) == name {
		return true
	}
	u := parseWebURL(source)
	return u != nil && isOnSite(u, name)
}

func isOnSite(u *url.URL, name string) bool {
	host := HostOf(name)
	own := bareHost(u.Hostname())
	if host == "" || own != host && !strings.HasSuffix(own, "."+host) {
		return false
	}
	n := parseWebURL(name)
	return n == nil || strings.Trim(n.Path, "/") == "" || u.Path == n.Path || strings.HasPrefix(u.Path, strings.TrimSuffix(n.Path, "/")+"/")
}

// HitDenotedBy reports whether a name denotes the source or URL of h.
func HitDenotedBy(h Hit, names []string) bool {
	return AnyDenotes(h.Source, names) || h.URL != "" && AnyDenotes(h.URL, names)
}

// AnyDenotes reports whether a name denotes source.
func AnyDenotes(source string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return Denotes(source, name) })
}
