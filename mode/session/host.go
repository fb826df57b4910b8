package session

import (
	"net/url"
	"path"
	"strings"
)

// address returns a URL of the web as it may be shown and fetched, or nothing.
func address(text string) string {
	if len(text) > maxURL || text != oneLine(text) || strings.ContainsAny(text, " <>\"`") {
		return ""
	}
	if u := parsed(text); u == nil {
		return ""
	}
	return text
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

// hostOf returns the host of a URL, or what is named if that can be a host, in
// lower case and without "www."; or nothing.
func hostOf(name string) string {
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

// hostsOf returns the hosts of sources that are of the web.
func hostsOf(names []string) (hosts []string) {
	for _, name := range names {
		if host := hostOf(name); host != "" {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// isOf reports whether a source is what is named: itself, a file in a folder of
// that name, or a file with that name; of the web, a page below that address or of
// that host.
func isOf(source, name string) bool {
	clean := path.Clean(source)
	if source == name || clean == path.Clean(name) || strings.HasPrefix(clean, strings.TrimSuffix(path.Clean(name), "/")+"/") || path.Base(clean) == name {
		return true
	}
	u := parsed(source)
	return u != nil && onSite(u, name)
}

// onSite reports whether a page is below an address, or of a host.
func onSite(u *url.URL, name string) bool {
	host := hostOf(name)
	own := bareHost(u.Hostname())
	if host == "" || own != host && !strings.HasSuffix(own, "."+host) {
		return false
	}
	n := parsed(name)
	return n == nil || strings.Trim(n.Path, "/") == "" || u.Path == n.Path || strings.HasPrefix(u.Path, strings.TrimSuffix(n.Path, "/")+"/")
}

// among reports whether a source, or the address it has, is one of those named.
func (h hit) among(names []string) bool {
	return among(h.Source, names) || h.URL != "" && among(h.URL, names)
}

// from reports whether a passage is from the source that is named.
func (e evidence) from(name string) bool {
	return isOf(e.Source, name) || e.URL != "" && isOf(e.URL, name)
}
