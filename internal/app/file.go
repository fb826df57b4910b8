package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteWhole writes a file atomically.
func WriteWhole(file string, text []byte) error {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(file, text, 0o644)
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".ponder-*")
	if err != nil {
		return NoRoom(filepath.Dir(file), err)
	}
	defer os.Remove(tmp.Name()) // already renamed on success
	_, err = tmp.Write(text)
	if err = errors.Join(err, tmp.Chmod(0o644), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}

// NoRoom explains why a folder accepts no file, without the temporary name.
func NoRoom(dir string, err error) error {
	if info, other := os.Stat(dir); other == nil && info.IsDir() && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot create a file in folder %s", dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no such folder: %s", dir)
	}
	if tried := (*fs.PathError)(nil); errors.As(err, &tried) {
		return fmt.Errorf("folder %s: %w", dir, tried.Err)
	}
	return err
}
