package calendar

import (
	_ "embed" // for the names
	"strings"
)

// windowsTable has the names that Windows gives time zones, as CLDR maps them.
//
//go:embed windows.txt
var windowsTable string

// windowsZones has the table by name in lower case.
var windowsZones = func() map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(windowsTable) {
		if name, zone, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			m[strings.ToLower(name)] = zone
		}
	}
	return m
}()
