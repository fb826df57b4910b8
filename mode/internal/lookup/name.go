package lookup

import (
	"ponder/internal/toolname"
	"ponder/knowledge/lookup"
)

// SourceName returns the name of a source for models: see [lookup.SourceName].
func SourceName(source string) string { return lookup.SourceName(source) }

// ResultForModel returns the result of a tool as a model reads it: without paths of files.
func ResultForModel(tool, result string) string {
	switch tool {
	case toolname.KnowledgeSearch, toolname.KnowledgeRead, toolname.PersonaMemory:
		return string(lookup.NameSources([]byte(result)))
	}
	return result
}
