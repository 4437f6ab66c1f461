package box

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

func ls(_ context.Context, p *proc) int {
	flags, names, ok := p.parse("laA1dhRtrSpFnioscugGBCZUXL", "")
	if !ok {
		return 1
	}
	if len(names) == 0 {
		names = []string{"."}
	}
	code := 0
	var files []fs.FileInfo
	var dirs []string
	for _, name := range names {
		info, err := p.machine.Files.Stat(p.path(name))
		if err != nil || has(flags, 'd') || has(flags, 'l') {
			if link, linkErr := p.machine.Files.Lstat(p.path(name)); linkErr == nil && (err != nil || has(flags, 'd')) {
				info, err = link, nil
			}
		}
		switch {
		case err != nil:
			code = p.failPath(name, err)
		case info.IsDir() && !has(flags, 'd'):
			dirs = append(dirs, name)
		default:
			files = append(files, named{info, name})
		}
	}
	p.list(files, flags, "")
	for i, dir := range dirs {
		if err := p.listDir(dir, flags, len(names) > 1 || has(flags, 'R'), i > 0 || len(files) > 0); err != nil {
			code = p.failPath(dir, err)
		}
	}
	return code
}

// named is a file with the name that was given for it.
type named struct {
	fs.FileInfo
	name string
}

func (n named) Name() string { return n.name }

func (p *proc) listDir(dir string, flags map[byte]string, titled, apart bool) error {
	entries, err := p.machine.Files.ReadDir(p.path(dir))
	if err != nil {
		return err
	}
	if apart {
		p.print("\n")
	}
	if titled {
		p.print("%s:\n", dir)
	}
	var infos []fs.FileInfo
	if has(flags, 'a') {
		for _, name := range []string{".", ".."} {
			if info, err := p.machine.Files.Stat(p.path(path.Join(dir, name))); err == nil {
				infos = append(infos, named{info, name})
			}
		}
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") && !has(flags, 'a') && !has(flags, 'A') {
			continue
		}
		if info, err := entry.Info(); err == nil {
			infos = append(infos, info)
		}
	}
	if has(flags, 'l') {
		p.print("total %d\n", 4*len(infos))
	}
	p.list(infos, flags, dir)
	if p.machine.Files.Partial(p.path(dir)) {
		p.print(unknown.Line)
	}
	if !has(flags, 'R') {
		return nil
	}
	for _, entry := range entries {
		if entry.IsDir() {
			if err := p.listDir(path.Join(dir, entry.Name()), flags, true, true); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *proc) list(infos []fs.FileInfo, flags map[byte]string, dir string) {
	switch {
	case has(flags, 't'):
		slices.SortStableFunc(infos, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	case has(flags, 'S'):
		slices.SortStableFunc(infos, func(a, b fs.FileInfo) int { return int(b.Size() - a.Size()) })
	}
	if has(flags, 'r') {
		slices.Reverse(infos)
	}
	now := p.machine.Clock.Now()
	var names []string
	for _, info := range infos {
		name := info.Name()
		switch {
		case info.IsDir() && (has(flags, 'p') || has(flags, 'F')):
			name += "/"
		case has(flags, 'l') && info.Mode()&fs.ModeSymlink != 0:
			if target, err := p.machine.Files.Readlink(p.path(path.Join(dir, info.Name()))); err == nil {
				name += " -> " + target
			}
		}
		if has(flags, 'l') {
			p.print("%s %4d root     root     %9s %s %s\n", modeText(info.Mode()), 1, size(info.Size(), has(flags, 'h')), listTime(info.ModTime(), now), name)
			continue
		}
		names = append(names, name)
	}
	if p.session.tty && !has(flags, '1') {
		p.columns(names)
		return
	}
	p.printLines(names)
}

// columns writes names side by side, as on a terminal.
func (p *proc) columns(names []string) {
	width := 80
	if p.size != nil {
		if w, _ := p.size(); w > 0 {
			width = int(w)
		}
	}
	longest := 0
	for _, name := range names {
		longest = max(longest, len(name))
	}
	perLine := max(width/(longest+2), 1)
	lines := (len(names) + perLine - 1) / perLine
	for line := range lines {
		for i := line; i < len(names); i += lines {
			if i+lines < len(names) {
				p.print("%-*s", longest+2, names[i])
			} else {
				p.print("%s", names[i])
			}
		}
		p.print("\n")
	}
}

// modeText is the ten characters of ls -l.
func modeText(mode fs.FileMode) string {
	kind := "-"
	switch {
	case mode.IsDir():
		kind = "d"
	case mode&fs.ModeSymlink != 0:
		kind = "l"
	case mode&fs.ModeDevice != 0:
		kind = "c"
	}
	return kind + mode.Perm().String()[1:]
}

func size(n int64, human bool) string {
	if !human || n < 1024 {
		return fmt.Sprint(n)
	}
	value, units := float64(n), "KMGT"
	unit := -1
	for value >= 1024 && unit < len(units)-1 {
		value /= 1024
		unit++
	}
	return fmt.Sprintf("%.1f%c", value, units[unit])
}

func showStat(format string, info fs.FileInfo, name string) string {
	return strings.NewReplacer(
		"%n", name, "%s", fmt.Sprint(info.Size()), "%a", fmt.Sprintf("%o", info.Mode().Perm()), "%A", modeText(info.Mode()),
		"%F", kindText(info.Mode()), "%Y", fmt.Sprint(info.ModTime().Unix()), "%y", info.ModTime().UTC().Format("2006-01-02 15:04:05.000000000 +0000"),
		"%u", "0", "%g", "0", "%U", "root", "%G", "root", `\n`, "\n",
	).Replace(format)
}

func kindText(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "directory"
	case mode&fs.ModeSymlink != 0:
		return "symbolic link"
	case mode&fs.ModeDevice != 0:
		return "character special file"
	}
	return "regular file"
}

func stat(_ context.Context, p *proc) int {
	flags, names, ok := p.parse("Lt", "cP")
	if !ok {
		return 1
	}
	if has(flags, 'f') || has(flags, 't') {
		return p.unsupported("-f")
	}
	end := "\n"
	format := "  File: %n\n  Size: %s\t%F\nAccess: (%a/%A)  Uid: (    0/    root)   Gid: (    0/    root)\nModify: %y"
	if has(flags, 'c') {
		format = flags['c']
	}
	if has(flags, 'P') {
		format, end = flags['P'], ""
	}
	code := 0
	for _, name := range names {
		look := p.machine.Files.Lstat
		if has(flags, 'L') {
			look = p.machine.Files.Stat
		}
		info, err := look(p.path(name))
		if errors.Is(err, unknown.ErrFile) {
			code = p.unsure(name)
			continue
		}
		if err != nil {
			code = p.fail("can't stat '%s': %s", name, reason(err))
			continue
		}
		p.print("%s%s", showStat(format, info, name), end)
	}
	return code
}

// walk calls do for a file and all that is beneath it.
func (p *proc) walk(name string, depth int, do func(name string, info fs.FileInfo, depth int) error) error {
	info, err := p.machine.Files.Lstat(p.path(name))
	if err != nil {
		return err
	}
	if err := do(name, info, depth); err != nil || !info.IsDir() {
		return err
	}
	entries, err := p.machine.Files.ReadDir(p.path(name))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := p.walk(path.Join(name, entry.Name()), depth+1, do); err != nil {
			return err
		}
	}
	return nil
}

// filesBeneath lists the regular files in directories.
func (p *proc) filesBeneath(names []string) []string {
	if len(names) == 0 {
		names = []string{"."}
	}
	var files []string
	for _, name := range names {
		if p.walk(name, 0, func(name string, info fs.FileInfo, _ int) error {
			if !info.IsDir() {
				files = append(files, name)
			}
			return nil
		}) != nil {
			files = append(files, name) // opening it reports the error
		}
	}
	return files
}

func kindLetter(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "d"
	case mode&fs.ModeSymlink != 0:
		return "l"
	case mode&fs.ModeDevice != 0:
		return "c"
	}
	return "f"
}

func du(_ context.Context, p *proc) int {
	flags, names, ok := p.parse("shkambxcHL", "d")
	if !ok {
		return 1
	}
	if len(names) == 0 {
		names = []string{"."}
	}
	code := 0
	for _, name := range names {
		var total int64
		err := p.walk(name, 0, func(_ string, info fs.FileInfo, _ int) error {
			total += (info.Size() + 4095) / 4096 * 4096
			return nil
		})
		if err != nil {
			code = p.failPath(name, err)
			continue
		}
		shown := fmt.Sprint(total / 1024)
		switch {
		case has(flags, 'h'):
			shown = size(total, true)
		case has(flags, 'b'):
			shown = fmt.Sprint(total)
		case has(flags, 'm'):
			shown = fmt.Sprint(total >> 20)
		}
		p.print("%s\t%s\n", shown, name)
	}
	return code
}

// tarTime formats a time as tar lists it.
func tarTime(t time.Time) string { return t.UTC().Format(time.DateTime) }
