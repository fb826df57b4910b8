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
		{gone, "there is no folder " + gone},
		{here, "no file can be made in folder " + here},
	} {
		if got := NoRoom(tt.dir, &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}); got.Error() != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
