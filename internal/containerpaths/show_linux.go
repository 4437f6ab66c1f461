package containerpaths

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// enterName is the zeroth argument with which the caller's program is executed to become the command.
const enterName = "minikcm-container-paths"

// permission is added to errors where the command may not mount.
const permission = "it needs the right to mount (root), or user namespaces for all users (kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)"

// Constants of Linux that the package syscall does not have.
const (
	capSysChroot = 18
	capSysAdmin  = 21

	prCapAmbient         = 47
	prCapAmbientClearAll = 4
)

// Supported returns an error where Show cannot work.
func Supported() error { return nil }

// Show changes a command that has not been started so that it finds, at each of the paths that
// Visible has returned, the file or folder that root has there.
func Show(cmd *exec.Cmd, root string, paths []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := append([]string{enterName, root, strconv.Itoa(len(paths))}, paths...)
	cmd.Args = append(append(args, cmd.Path), cmd.Args[1:]...)
	cmd.Path = self
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	attr := cmd.SysProcAttr
	attr.Cloneflags |= syscall.CLONE_NEWNS
	if user := os.Geteuid(); user != 0 {
		// In a user namespace of its own, where it is still the same user, the command may mount.
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: user, HostID: user, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
		attr.AmbientCaps = []uintptr{capSysAdmin, capSysChroot}
	}
	return nil
}

// Explain adds the missing permission to an error of starting a command that Show has changed.
func Explain(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: showing volumes at their paths: %s", err, permission)
	}
	return err
}

// Enter becomes the command, if Show has started the program for that, and returns otherwise.
func Enter() {
	if os.Args[0] != enterName {
		return
	}
	_, _ = fmt.Fprintf(os.Stderr, "minikcm: %v\n", enter(os.Args[1:]))
	os.Exit(126) // as a shell says of a command that it cannot start
}

// enter mounts the files and executes the command. It returns only if that fails.
func enter(args []string) error {
	runtime.LockOSThread() // capabilities belong to the thread
	if len(args) < 2 {
		return errors.New("there is no command")
	}
	root := args[0]
	n, err := strconv.Atoi(args[1])
	if err != nil || len(args) < n+3 {
		return errors.New("there is no command")
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("showing volumes at their paths: %w: %s", err, permission)
	}
	t := &tree{stages: filepath.Dir(root), ours: map[string]bool{}}
	for _, path := range args[2 : n+2] {
		if err := t.show(filepath.Join(root, path), path); err != nil {
			return fmt.Errorf("mounting %s: %w", path, err)
		}
	}
	if err := os.Chdir(dir); err != nil { // in the new tree
		return err
	}
	// It fails on kernels without ambient capabilities only, where there are none to clear.
	_, _, _ = syscall.RawSyscall6(syscall.SYS_PRCTL, prCapAmbient, prCapAmbientClearAll, 0, 0, 0, 0)
	argv := args[n+2:]
	return fmt.Errorf("executing %s: %w", argv[0], syscall.Exec(argv[0], argv, os.Environ()))
}

// tree is the file tree of the mount namespace. Folders of this machine are never written to: one
// that lacks a mount point is replaced by a mirror.
type tree struct {
	// stages is where mirrors are made.
	stages string
	// ours are the folders of mirrors.
	ours map[string]bool
}

// show mounts a file or folder at a path.
func (t *tree) show(from, path string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	at := "/"
	names := strings.Split(strings.Trim(path, "/"), "/")
	for i, name := range names {
		next := filepath.Join(at, name)
		_, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if err := t.add(at, name, info.IsDir() || i < len(names)-1); err != nil {
				return err
			}
		case err != nil:
			return err
		default:
			if next, err = filepath.EvalSymlinks(next); err != nil {
				return err
			}
		}
		at = next
	}
	return bind(from, at)
}

// add makes an empty file or folder in a folder.
func (t *tree) add(dir, name string, folder bool) error {
	if !t.ours[dir] {
		if err := t.mirror(dir); err != nil {
			return fmt.Errorf("mirroring %s: %w", dir, err)
		}
		t.ours[dir] = true
	}
	at := filepath.Join(dir, name)
	t.ours[at] = folder
	return mountPoint(at, folder)
}

// mirror replaces a folder by one in memory with the same entries.
func (t *tree) mirror(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	stage, err := os.MkdirTemp(t.stages, "mirror-")
	if err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", stage, "tmpfs", 0, "mode=0755"); err != nil {
		return err
	}
	for _, entry := range entries {
		from, at := filepath.Join(dir, entry.Name()), filepath.Join(stage, entry.Name())
		if entry.Type() == fs.ModeSymlink {
			target, linkErr := os.Readlink(from)
			err = errors.Join(linkErr, os.Symlink(target, at))
		} else if err = mountPoint(at, entry.IsDir()); err == nil {
			err = bind(from, at)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // it has just been removed
			return err
		}
	}
	if dir == "/" {
		return syscall.Chroot(stage)
	}
	return syscall.Mount(stage, dir, "", syscall.MS_MOVE, "")
}

// mountPoint makes an empty file or folder.
func mountPoint(at string, folder bool) error {
	if folder {
		return os.Mkdir(at, 0o755)
	}
	return os.WriteFile(at, nil, 0o644)
}

// bind shows a file or folder at another path, with all that is mounted in it: a user namespace
// may not separate these.
func bind(from, at string) error {
	return syscall.Mount(from, at, "", syscall.MS_BIND|syscall.MS_REC, "")
}
