package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ponder/mode/subconscious"
)

// Bounds of the folder with roles.
const (
	maxRoleBytes = 64 << 10 // that are read of a file; a role is much shorter
	maxOwnRoles  = 12
)

// mindRoles returns the roles: the four, and those that the user has added. One of a name
// that is there already takes its place.
func (a *cli) mindRoles() ([]subconscious.Role, error) {
	cfg, err := a.Config()
	if err != nil {
		return nil, err
	}
	roles, dir := subconscious.DefaultRoles(), cfg.MindRoles()
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) && cfg.Mind.Roles == "" {
		return roles, nil
	}
	if err != nil {
		return nil, usagef("mind.roles: %w", err)
	}
	n := 0
	for _, f := range files {
		if f.IsDir() || !strings.HasSuffix(f.Name(), ".md") || strings.HasPrefix(f.Name(), ".") {
			continue
		}
		if n++; n > maxOwnRoles {
			return nil, usagef("%s has more than %d roles", dir, maxOwnRoles)
		}
		role, err := readRole(filepath.Join(dir, f.Name()))
		if err != nil {
			return nil, usagef("%w", err)
		}
		if i := slices.IndexFunc(roles, func(r subconscious.Role) bool { return r.Name == role.Name }); i >= 0 {
			roles[i] = role
			continue
		}
		roles = append(roles, role)
	}
	return roles, nil
}

// readRole reads a role from its file.
func readRole(file string) (subconscious.Role, error) {
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() { // a pipe would be waited for
		return subconscious.Role{}, fmt.Errorf("read role: %s is no file", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return subconscious.Role{}, fmt.Errorf("read role: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRoleBytes))
	if err != nil {
		return subconscious.Role{}, fmt.Errorf("read role: %w", err)
	}
	role, err := subconscious.ReadRole(filepath.Base(file), text)
	if err != nil {
		return role, fmt.Errorf("%s: %w", file, err)
	}
	return role, nil
}
