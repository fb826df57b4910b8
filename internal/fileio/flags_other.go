//go:build !unix

package fileio

import "errors"

const openFlags = 0

var errNoReader = errors.New("no reader")
