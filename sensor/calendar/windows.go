package calendar

import (
	_ "embed"
	"strings"
)

// windowsTable maps Windows names of time zones to IANA names, from CLDR.
//
//go:embed windows.txt
var windowsTable string

// windowsZones is the table by lower-case name.
var windowsZones = func() map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(windowsTable) {
		if name, zone, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			m[strings.ToLower(name)] = zone
		}
	}
	return m
}()
