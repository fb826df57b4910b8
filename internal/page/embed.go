// Package page contains the web page of Ponder as built files. Its source is in src; scripts/page
// builds it. The Go build needs no Node.js, because dist is a part of the repository.
package page

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var assets embed.FS

// Files returns the built files: index.html and, with names by their content, assets/*.
func Files() fs.FS {
	files, err := fs.Sub(assets, "dist")
	if err != nil {
		panic(err) // dist is a part of the binary
	}
	return files
}
