// Package index finds passages.
package index
