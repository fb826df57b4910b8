// Package toolname has the names of the tools of Ponder. The names are stored in logs and
// sent to models, so they stay as they are.
package toolname

// The names.
const (
	Think           = "think"
	DeepThink       = "deep_think" // also the stage and the sensor that ask for a reflection
	KnowledgeSearch = "knowledge_search"
	KnowledgeRead   = "knowledge_read"
	PersonaMemory   = "personaMemorySearch"
	Remember        = "remember"
	EarlierSessions = "earlier_sessions"
	ThreadRead      = "thread_read"
	WebSearch       = "web_search"
	WebFetch        = "web_fetch"
)
