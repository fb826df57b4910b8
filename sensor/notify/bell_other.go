//go:build !unix

package notify

const noControl = 0
