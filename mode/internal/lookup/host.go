package lookup

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"ponder/internal/textkit"
)

// Address returns a URL of the web as it may be shown and fetched, or nothing.
func Address(s string) string {
	if len(s) > maxURL || s != textkit.OneLine(s) || strings.ContainsAny(s, " <>\"`") {
		return ""
	}
	if u := parsed(s); u == nil {
		return ""
	}
	return s
}

// parsed returns a URL of the web, or nil.
func parsed(text string) *url.URL {
	if !strings.HasPrefix(text, "http://") && !strings.HasPrefix(text, "https://") {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil {
		return nil
	}
	return u
}

// SameAddress reports whether two URLs of the web are the same: scheme, host, port,
// path, query and fragment. A URL with a name of a user is the same as none.
func SameAddress(a, b string) bool {
	one := canonical(a)
	return one != "" && one == canonical(b)
}

// canonical returns a URL of the web as all URLs of the same place are written, or
// nothing.
func canonical(s string) string {
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

// HostOf returns the host of a URL, or what is named if that can be a host, in
// lower case and without "www."; or nothing.
func HostOf(name string) string {
	if u := parsed(name); u != nil {
		return bareHost(u.Hostname())
	}
	if strings.Contains(name, ".") && !isFileName(name) && !strings.ContainsAny(name, "/\\ :@") && !strings.HasPrefix(name, ".") && !strings.HasSuffix(name, ".") {
		return bareHost(name)
	}
	return ""
}

// isFileName reports whether a name with a dot is rather that of a file.
func isFileName(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".txt", ".pdf", ".html", ".htm", ".doc", ".docx", ".odt", ".epub", ".xlsx", ".csv", ".tsv", ".json", ".jsonl", ".mbox", ".eml", ".go", ".py", ".js", ".rs", ".sh":
		return true
	}
	return false
}

func bareHost(host string) string { return strings.TrimPrefix(strings.ToLower(host), "www.") }

// HostsOf returns the hosts of sources that are of the web.
func HostsOf(names []string) (hosts []string) {
	for _, name := range names {
		if host := HostOf(name); host != "" {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// IsOf reports whether a source is what is named: itself, a file in a folder of
// that name, or a file with that name; of the web, a page below that address or of
// that host.
func IsOf(source, name string) bool {
	clean := path.Clean(source)
	if source == name || clean == path.Clean(name) || strings.HasPrefix(clean, strings.TrimSuffix(path.Clean(name), "/")+"/") || path.Base(clean) == name {
		return true
	}
	u := parsed(source)
	return u != nil && onSite(u, name)
}

// onSite reports whether a page is below an address, or of a host.
func onSite(u *url.URL, name string) bool {
	host := HostOf(name)
	own := bareHost(u.Hostname())
	if host == "" || own != host && !strings.HasSuffix(own, "."+host) {
		return false
	}
	n := parsed(name)
	return n == nil || strings.Trim(n.Path, "/") == "" || u.Path == n.Path || strings.HasPrefix(u.Path, strings.TrimSuffix(n.Path, "/")+"/")
}

// HitAmong reports whether the source of a hit, or its address, is one of those named.
func HitAmong(h Hit, names []string) bool {
	return Among(h.Source, names) || h.URL != "" && Among(h.URL, names)
}

// Among reports whether a source is one of those named.
func Among(source string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return IsOf(source, name) })
}
