// Package toolname defines the names of Ponder's tools. Logs store them and models receive them,
// so they must not change.
package toolname

// Tool names.
const (
	Think           = "think"
	DeepThink       = "deep_think" // also the stage and sensor of a reflection
	KnowledgeSearch = "knowledge_search"
	KnowledgeRead   = "knowledge_read"
	PersonaMemory   = "personaMemorySearch"
	Remember        = "remember"
	EarlierSessions = "earlier_sessions"
	ThreadRead      = "thread_read"
	WebSearch       = "web_search"
	WebFetch        = "web_fetch"
)
