//go:build !linux

package containerpaths

import (
	"errors"
	"os/exec"
)

var errNotLinux = errors.New("files can be shown at the paths of a container on Linux only")

// Supported returns an error: only Linux has mount namespaces.
func Supported() error { return errNotLinux }

// Show fails: only Linux has mount namespaces.
func Show(*exec.Cmd, string, []string) error {
	return errNotLinux
}

// Explain returns the error.
func Explain(err error) error { return err }

// Enter does nothing.
func Enter() {}
