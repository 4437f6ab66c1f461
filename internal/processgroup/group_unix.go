//go:build unix

package processgroup

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
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

// Guard kills the group of a running command when this process ends, also if that is killed: a shell in a group of its own waits for
// the end of a pipe that this process holds. release ends the guard.
func Guard(leader int) (release func(), err error) {
	cmd := exec.CommandContext(context.Background(), "sh", "-c", `read _; kill -s KILL -- "-$1"`, "sh", strconv.Itoa(leader))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if _, err := cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() {
		_ = cmd.Process.Kill() // before its pipe is closed
		_ = cmd.Wait()         // it was killed
	}, nil
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
