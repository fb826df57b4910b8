package httpapi

// more adds the routes of completions, memories, the subconscious and usage.
func (a *api) more() {
	a.completions()
	a.memory()
	a.mind()
	a.usage()
}
