//go:build unix

package scenarios

import (
	"os/exec"
	"syscall"
)

// inGroup makes cmd the leader of a process group, which its children share unless they leave
// it. The end of cmd's context sends SIGTERM to the group, so that a shell can clean up; after
// cmd.WaitDelay the package exec kills the leader, and endGroup what is left.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

// groupLeft reports whether processes are left in the group of a command that has ended.
func groupLeft(cmd *exec.Cmd) bool { return syscall.Kill(-cmd.Process.Pid, 0) == nil }

// endGroup kills what is left in the group of a command that has ended.
func endGroup(leader int) {
	// It fails only if the group has no process, or none of ours.
	_ = syscall.Kill(-leader, syscall.SIGKILL)
}
