package main

import (
	"cmp"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func (a *cli) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Say which version this is",
		Example: "ponder version --json",
		GroupID: groupSetUp,
		Args:    takeNone,
		RunE: func(*cobra.Command, []string) error {
			v := thisBuild()
			if a.flags.json {
				return a.object(v)
			}
			a.printf("%s\n", v)
			return nil
		},
	}
}

type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Changed  bool   `json:"modified,omitempty"` // since that revision
	Go       string `json:"go"`
	System   string `json:"system"`
}

// version is what the build calls itself; the linker sets it.
var version string

func thisBuild() build {
	b := build{Version: cmp.Or(version, "development"), Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; version == "" && v != "" && v != "(devel)" {
		b.Version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Changed = s.Value == "true"
		}
	}
	return b
}

func (b build) String() string {
	s := "ponder " + b.Version
	if b.Revision != "" {
		s += " (" + b.Revision[:min(12, len(b.Revision))]
		if b.Changed {
			s += ", changed"
		}
		s += ")"
	}
	return s + ", " + b.Go + ", " + b.System
}
