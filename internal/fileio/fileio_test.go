package app

import (
	"io/fs"
	"path/filepath"
	"testing"
)

func TestNoRoom(t *testing.T) {
	here := t.TempDir()
	gone := filepath.Join(here, "gone")
	for _, tt := range []struct{ dir, want string }{
		{gone, "no such folder: " + gone},
		{here, "cannot create a file in folder " + here},
	} {
		if got := NoRoom(tt.dir, &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}); got.Error() != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
