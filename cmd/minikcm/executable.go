package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// executable returns the path of this program. Linux has it in /proc, which a container or a chroot
// may lack: there the name by which the program was called leads to it.
func executable() (string, error) { return executableOf(os.Executable, os.Args[0]) }

func executableOf(known func() (string, error), called string) (string, error) {
	path, err := known()
	if err == nil {
		return path, nil
	}
	path, lookErr := exec.LookPath(called)
	if lookErr != nil {
		return "", errors.Join(err, lookErr)
	}
	return filepath.Abs(path)
}
