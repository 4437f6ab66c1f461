//go:build !unix

package processgroup

import "os/exec"

// Lead does nothing: only the command itself ends with its context.
func Lead(*exec.Cmd) {}

// Left reports whether processes are left in the group of a command that has ended.
func Left(*exec.Cmd) bool { return false }

// End kills what is left in the group of a command that has ended.
func End(int) {}

// Exists reports whether there is a process with the ID; without process groups, it says so of
// every ID.
func Exists(int) bool { return true }
