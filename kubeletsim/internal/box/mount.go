package box

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"minikcm.dev/minikcm/kubeletsim/internal/applets"
	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// df shows the space of all file systems, or of the file systems of the named files.
func df(_ context.Context, p *proc) int {
	flags, names, ok := p.parse("hHPkmTail", "tB")
	if !ok {
		return 1
	}
	if has(flags, 'o') || has(flags, 'i') {
		return p.unsupported("--output")
	}
	unit, title, ok := blockSize(flags)
	if !ok {
		return p.unsupported("-B " + flags['B'])
	}
	points, code := append([]string{"/"}, p.machine.Files.MountPoints()...), 0
	if len(names) > 0 {
		points = nil
		for _, name := range names {
			at, err := p.mountOf(name)
			if err != nil {
				code = p.failPath(name, err)
				continue
			}
			points = append(points, at)
		}
		if len(points) == 0 {
			return code
		}
	}
	used, limit := p.machine.Files.Usage()
	show := func(n int64) string {
		if unit == 0 {
			return size(n, true)
		}
		return fmt.Sprint((n + unit - 1) / unit)
	}
	kind, share := "", "Use%"
	if has(flags, 'T') {
		kind = fmt.Sprintf(" %-8s", "Type")
	}
	if has(flags, 'P') {
		share = "Capacity"
	}
	p.print("%-20s%s %*s %9s %9s %s Mounted on\n", "Filesystem", kind, max(10, len(title)), title, "Used", "Available", share)
	if kind != "" {
		kind = fmt.Sprintf(" %-8s", "tmpfs")
	}
	for _, at := range points {
		p.print("%-20s%s %*s %9s %9s %*d%% %s\n", "memory", kind, max(10, len(title)), show(limit), show(used), show(limit-used), len(share)-1, used*100/limit, at)
	}
	return code
}

// blockSize returns the unit of df, 0 for one that suits each number, and its title.
func blockSize(flags map[byte]string) (unit int64, title string, ok bool) {
	text := flags['B']
	switch {
	case has(flags, 'h') || has(flags, 'H'):
		return 0, "Size", true
	case has(flags, 'm'):
		text = "M"
	case text == "" && has(flags, 'P'):
		return 1 << 10, "1024-blocks", true
	case text == "":
		text = "K"
	}
	if text[0] < '0' || text[0] > '9' {
		text = "1" + text
	}
	unit, ok = applets.ParseSize(text)
	return unit, text + "-blocks", ok && unit > 0
}

// mountOf returns where the file system is mounted that a file is in.
func (p *proc) mountOf(name string) (string, error) {
	file, err := p.machine.Files.Resolve(p.path(name))
	if err != nil {
		return "", err
	}
	longest := "/"
	for _, at := range p.machine.Files.MountPoints() {
		if (at == file || strings.HasPrefix(file, at+"/")) && len(at) > len(longest) {
			longest = at
		}
	}
	return longest, nil
}

// cgroupDir is where a container's cgroup is mounted.
const cgroupDir = "/sys/fs/cgroup"

// showMounts lists the mounts, of one type if that is not empty.
func (p *proc) showMounts(only string) int {
	show := func(device, at, kind, options string) {
		if only == "" || only == kind {
			p.print("%s on %s type %s (%s)\n", device, at, kind, options)
		}
	}
	show("memory", "/", "tmpfs", "rw")
	if _, err := p.machine.Files.Stat(cgroupDir + "/cgroup.controllers"); err == nil {
		show("cgroup", cgroupDir, "cgroup2", "ro,nosuid,nodev,noexec,relatime")
	}
	for _, at := range p.machine.Files.MountPoints() {
		show("memory", at, "tmpfs", "rw")
	}
	return 0
}

// mounting holds the options of a call of mount.
type mounting struct {
	kind                    string
	bind, remount, readOnly bool
	// propagates means that only the propagation of a mount is to change, which has no effect here.
	propagates bool
}

// mount mounts an empty file system in memory or, with bind, what is at another path. Without arguments, it lists
// the mounts.
func mount(_ context.Context, p *proc) int {
	flags, rest, ok := p.parse("rwnvfisBRM", "to")
	if !ok {
		return 1
	}
	m := mounting{kind: flags['t'], bind: has(flags, 'B') || has(flags, 'R'), readOnly: has(flags, 'r'), propagates: has(flags, '~')}
	for option := range strings.SplitSeq(flags['o'], ",") {
		switch option {
		case "bind", "rbind":
			m.bind = true
		case "remount":
			m.remount = true
		case "ro":
			m.readOnly = true
		case "rw":
			m.readOnly = false
		case "shared", "rshared", "slave", "rslave", "private", "rprivate":
			m.propagates = m.propagates || len(rest) == 1
		}
	}
	switch {
	case len(rest) == 0:
		return p.showMounts(flags['t'])
	case len(rest) > 2:
		return p.fail("too many arguments")
	case len(rest) == 1 && !m.remount && !m.propagates:
		return p.fail("can't find %s in /etc/fstab", rest[0])
	}
	device, at := rest[0], rest[len(rest)-1]
	if code, done := p.mayMount(device, at); done {
		return code
	}
	return m.do(p, device, at)
}

// mayMount checks what Linux checks first: that the place is there, and then the permission.
func (p *proc) mayMount(device, at string) (code int, done bool) {
	_, err := p.machine.Files.Stat(p.path(at))
	switch {
	case err != nil && !errors.Is(err, unknown.ErrFile):
		return p.fail("mounting %s on %s failed: %s", device, at, reason(err)), true
	case !p.machine.Mounts:
		return p.fail("permission denied (are you root?)"), true
	case err != nil:
		p.Assume(unknown.Show(p.path(at)) + " exists")
	}
	return 0, false
}

func (m *mounting) do(p *proc, device, at string) int {
	var err error
	switch files, place := p.machine.Files, p.path(at); {
	case m.propagates:
	case m.remount:
		err = files.Remount(place, m.readOnly)
	case m.bind:
		if _, err = files.Stat(p.path(device)); errors.Is(err, unknown.ErrFile) {
			p.Assume(unknown.Show(p.path(device)) + " exists")
		}
		err = files.Attach(p.path(device), place, m.readOnly)
	default:
		switch m.kind {
		case "tmpfs", "ramfs":
			err = files.Attach("", place, m.readOnly)
		case "proc", "sysfs", "devtmpfs":
			err = files.Attach(map[string]string{"proc": "/proc", "sysfs": "/sys", "devtmpfs": "/dev"}[m.kind], place, m.readOnly)
		default:
			if p.machine.Unknown {
				return p.unsupported("-t " + m.kind)
			}
			err = syscall.ENODEV
		}
	}
	if err != nil {
		return p.fail("mounting %s on %s failed: %s", device, at, reason(err))
	}
	return 0
}

// umount ends mounts.
func umount(_ context.Context, p *proc) int {
	_, names, ok := p.parse("lfnrRvid", "tO")
	switch {
	case !ok:
		return 1
	case len(names) == 0:
		return p.unsupported("-a")
	}
	code := 0
	for _, name := range names {
		if !p.machine.Mounts {
			code = p.fail("can't unmount %s: Operation not permitted", name)
		} else if err := p.machine.Files.Detach(p.path(name)); errors.Is(err, unknown.ErrFile) {
			code = p.unsure(name)
		} else if err != nil {
			code = p.fail("can't unmount %s: %s", name, reason(err))
		}
	}
	return code
}
