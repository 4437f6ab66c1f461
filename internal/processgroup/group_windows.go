package processgroup

import (
	"os"
	"os/exec"
	"syscall"
)

// Lead does nothing: only the command itself ends with its context.
func Lead(*exec.Cmd) {}

// Left reports whether processes are left in the group of a command that has ended.
func Left(*exec.Cmd) bool { return false }

// End kills the remaining processes of the group of a command that has ended.
func End(int) {}

// Guard does nothing: a command that was started outlives this process.
func Guard(int) (release func(), err error) { return func() {}, nil }

// processQueryLimitedInformation and stillActive are constants of the Windows API that package
// syscall does not have.
const (
	processQueryLimitedInformation = 0x1000
	stillActive                    = 259
	detachedProcess                = 0x8
)

// Exists reports whether there is a process with the ID.
func Exists(pid int) bool {
	handle, err := syscall.OpenProcess(processQueryLimitedInformation, false, uint32(pid))
	if err != nil {
		return err == syscall.ERROR_ACCESS_DENIED
	}
	defer func() { _ = syscall.CloseHandle(handle) }()
	var code uint32
	return syscall.GetExitCodeProcess(handle, &code) != nil || code == stillActive
}

// Detach lets cmd run without the console of this process: its Ctrl-C does not reach cmd.
func Detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = attributes(cmd)
	cmd.SysProcAttr.CreationFlags |= detachedProcess | syscall.CREATE_NEW_PROCESS_GROUP
}

// Inherit lets cmd have an open file, and returns its descriptor there.
func Inherit(cmd *exec.Cmd, file *os.File) (descriptor uintptr, err error) {
	handle := syscall.Handle(file.Fd())
	if err := syscall.SetHandleInformation(handle, syscall.HANDLE_FLAG_INHERIT, syscall.HANDLE_FLAG_INHERIT); err != nil {
		return 0, os.NewSyscallError("SetHandleInformation", err)
	}
	cmd.SysProcAttr = attributes(cmd)
	cmd.SysProcAttr.AdditionalInheritedHandles = append(cmd.SysProcAttr.AdditionalInheritedHandles, handle)
	return uintptr(handle), nil
}

func attributes(cmd *exec.Cmd) *syscall.SysProcAttr {
	if cmd.SysProcAttr == nil {
		return &syscall.SysProcAttr{}
	}
	return cmd.SysProcAttr
}

// Terminate ends a process, which cannot clean up: Windows has no SIGTERM.
func Terminate(process *os.Process) error { return process.Kill() }
