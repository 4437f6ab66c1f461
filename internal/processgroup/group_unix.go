//go:build unix

package processgroup

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// Lead makes cmd the leader of a process group, which its children share unless they leave
// it. The end of cmd's context sends SIGTERM to the group, so that a shell can clean up; after
// cmd.WaitDelay the package exec kills the leader, and End the remaining processes.
func Lead(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

// Left reports whether processes are left in the group of a command that has ended.
func Left(cmd *exec.Cmd) bool { return syscall.Kill(-cmd.Process.Pid, 0) == nil }

// End kills the remaining processes of the group of a command that has ended.
func End(leader int) {
	// It fails only if the group has no process, or none of ours.
	_ = syscall.Kill(-leader, syscall.SIGKILL)
}

// Exists reports whether there is a process with the ID.
func Exists(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// Detach makes cmd the leader of a session of its own: no signal of the terminal reaches it.
func Detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// Inherit lets cmd have an open file, and returns its descriptor there.
func Inherit(cmd *exec.Cmd, file *os.File) (descriptor uintptr, err error) {
	cmd.ExtraFiles = append(cmd.ExtraFiles, file)
	return uintptr(2 + len(cmd.ExtraFiles)), nil // after standard input, output and error
}

// Terminate asks a process to end.
func Terminate(process *os.Process) error { return process.Signal(syscall.SIGTERM) }
