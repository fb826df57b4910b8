// Package same decides whether two short texts say the same thing, opposite
// things, or different things, with no model and no network.
package same
