//go:build !unix

package scenarios

import "os/exec"

// inGroup does nothing: only the command itself ends with its context.
func inGroup(*exec.Cmd) {}

func groupLeft(*exec.Cmd) bool { return false }

func endGroup(int) {}
