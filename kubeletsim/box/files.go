package box

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"time"
)

func mkdir(_ context.Context, p *proc) int {
	flags, names, ok := p.parse("pv", "m")
	if !ok {
		return 1
	}
	code := 0
	for _, name := range names {
		do := p.machine.Files.Mkdir
		if has(flags, 'p') {
			do = p.machine.Files.MkdirAll
		}
		if err := do(p.path(name), 0o755); err != nil {
			code = p.fail("can't create directory '%s': %s", name, reason(err))
		}
	}
	return code
}

func rm(_ context.Context, p *proc) int {
	flags, names, ok := p.parse("rRfiv", "")
	if !ok {
		return 1
	}
	code := 0
	for _, name := range names {
		info, err := p.machine.Files.Lstat(p.path(name))
		switch {
		case err != nil:
		case has(flags, 'r') || has(flags, 'R'):
			err = p.machine.Files.RemoveAll(p.path(name))
		case info.IsDir():
			code = p.fail("'%s' is a directory", name)
			continue
		default:
			err = p.machine.Files.Remove(p.path(name))
		}
		if err != nil && (!has(flags, 'f') || !os.IsNotExist(err)) {
			code = p.fail("can't remove '%s': %s", name, reason(err))
		}
	}
	return code
}

func rmdir(_ context.Context, p *proc) int {
	code := 0
	for _, name := range p.args[1:] {
		info, err := p.machine.Files.Lstat(p.path(name))
		if err == nil && !info.IsDir() {
			code = p.fail("'%s': Not a directory", name)
			continue
		}
		if err == nil {
			err = p.machine.Files.Remove(p.path(name))
		}
		if err != nil {
			code = p.fail("'%s': %s", name, reason(err))
		}
	}
	return code
}

// into returns the path of a file after a copy or move to target.
func (p *proc) into(name, target string) string {
	if info, err := p.machine.Files.Stat(p.path(target)); err == nil && info.IsDir() {
		return path.Join(p.path(target), path.Base(p.path(name)))
	}
	return p.path(target)
}

// targets checks the arguments of programs that take files and a target.
func (p *proc) targets(names []string) (from []string, to string, ok bool) {
	if len(names) < 2 {
		p.fail("missing file operand")
		return nil, "", false
	}
	from, to = names[:len(names)-1], names[len(names)-1]
	if len(from) > 1 {
		if info, err := p.machine.Files.Stat(p.path(to)); err != nil || !info.IsDir() {
			p.fail("target '%s' is not a directory", to)
			return nil, "", false
		}
	}
	return from, to, true
}

func cp(ctx context.Context, p *proc) int {
	flags, names, ok := p.parse("rRafpdv", "")
	if !ok {
		return 1
	}
	from, to, ok := p.targets(names)
	if !ok {
		return 1
	}
	deep := has(flags, 'r') || has(flags, 'R') || has(flags, 'a')
	code := 0
	for _, name := range from {
		if err := p.copyTo(ctx, p.path(name), p.into(name, to), deep); err != nil {
			code = p.failPath(name, err)
		}
	}
	return code
}

func (p *proc) copyTo(ctx context.Context, from, to string, deep bool) error {
	files := p.machine.Files
	info, err := files.Stat(from)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return p.copyFile(ctx, from, to, info.Mode())
	case !deep:
		return fmt.Errorf("omitting directory")
	case strings.HasPrefix(to+"/", from+"/"):
		return fmt.Errorf("cannot copy a directory into itself")
	}
	entries, err := files.ReadDir(from)
	if err != nil {
		return err
	}
	if err := files.MkdirAll(to, info.Mode().Perm()); err != nil {
		return err
	}
	for _, entry := range entries {
		if err := p.copyTo(ctx, path.Join(from, entry.Name()), path.Join(to, entry.Name()), true); err != nil {
			return err
		}
	}
	return nil
}

func (p *proc) copyFile(ctx context.Context, from, to string, mode fs.FileMode) error {
	if from == to {
		return fmt.Errorf("'%s' and '%s' are the same file", from, to)
	}
	f, err := p.open(ctx, from)
	if err != nil {
		return err
	}
	return p.writeFile(to, f, mode)
}

func (p *proc) writeFile(name string, r io.Reader, mode fs.FileMode) error {
	f, err := p.machine.Files.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode.Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return err
}

func mv(_ context.Context, p *proc) int {
	_, names, ok := p.parse("fnv", "")
	if !ok {
		return 1
	}
	from, to, ok := p.targets(names)
	if !ok {
		return 1
	}
	code := 0
	for _, name := range from {
		if err := p.machine.Files.Rename(p.path(name), p.into(name, to)); err != nil {
			code = p.fail("can't rename '%s': %s", name, reason(err))
		}
	}
	return code
}

func touch(_ context.Context, p *proc) int {
	_, names, ok := p.parse("cam", "dr")
	if !ok {
		return 1
	}
	code := 0
	for _, name := range names {
		f, err := p.machine.Files.OpenFile(p.path(name), os.O_RDONLY|os.O_CREATE, 0o644)
		if err == nil {
			_ = f.Close()
			err = p.machine.Files.Chtimes(p.path(name), p.machine.Clock.Now())
		}
		if err != nil {
			code = p.failPath(name, err)
		}
	}
	return code
}

func ln(_ context.Context, p *proc) int {
	flags, names, ok := p.parse("sfn", "")
	if !ok {
		return 1
	}
	if !has(flags, 's') {
		return p.fail("hard links are not simulated; use -s")
	}
	if len(names) == 1 {
		names = append(names, ".")
	}
	from, to, ok := p.targets(names)
	if !ok {
		return 1
	}
	code := 0
	for _, name := range from {
		link := p.into(name, to)
		if has(flags, 'f') {
			_ = p.machine.Files.Remove(link)
		}
		if err := p.machine.Files.Symlink(name, link); err != nil {
			code = p.failPath(link, err)
		}
	}
	return code
}

func chmod(_ context.Context, p *proc) int {
	_, names, ok := p.parse("Rvf", "")
	if !ok || len(names) < 2 {
		return p.fail("a mode and a file are needed")
	}
	code := 0
	for _, name := range names[1:] {
		info, err := p.machine.Files.Stat(p.path(name))
		if err != nil {
			code = p.failPath(name, err)
			continue
		}
		perm, ok := newMode(info.Mode().Perm(), names[0])
		if !ok {
			return p.fail("invalid mode '%s'", names[0])
		}
		if err := p.machine.Files.Chmod(p.path(name), perm); err != nil {
			code = p.failPath(name, err)
		}
	}
	return code
}

// newMode applies what chmod takes: 0644, +x, u+rw.
func newMode(old fs.FileMode, text string) (fs.FileMode, bool) {
	if n, err := strconv.ParseUint(text, 8, 12); err == nil {
		return fs.FileMode(n).Perm(), true
	}
	for _, clause := range strings.Split(text, ",") {
		i := strings.IndexAny(clause, "+-=")
		if i < 0 {
			return 0, false
		}
		who, mask := clause[:i], fs.FileMode(0)
		if who == "" {
			who = "a"
		}
		for _, c := range who {
			switch c {
			case 'u':
				mask |= 0o700
			case 'g':
				mask |= 0o070
			case 'o':
				mask |= 0o007
			case 'a':
				mask |= 0o777
			default:
				return 0, false
			}
		}
		var bits fs.FileMode
		for _, c := range clause[i+1:] {
			switch c {
			case 'r':
				bits |= 0o444
			case 'w':
				bits |= 0o222
			case 'x', 'X':
				bits |= 0o111
			default:
				return 0, false
			}
		}
		switch clause[i] {
		case '+':
			old |= bits & mask
		case '-':
			old &^= bits & mask
		default:
			old = old&^mask | bits&mask
		}
	}
	return old, true
}

// chown changes nothing: all belongs to root.
func chown(_ context.Context, p *proc) int {
	_, names, ok := p.parse("Rvfh", "")
	if !ok || len(names) < 2 {
		return p.fail("an owner and a file are needed")
	}
	code := 0
	for _, name := range names[1:] {
		if _, err := p.machine.Files.Lstat(p.path(name)); err != nil {
			code = p.failPath(name, err)
		}
	}
	return code
}

func mktemp(_ context.Context, p *proc) int {
	flags, names, ok := p.parse("dqu", "pt")
	if !ok {
		return 1
	}
	dir := "/tmp"
	if has(flags, 'p') {
		dir = flags['p']
	}
	template := path.Join(dir, "tmp.XXXXXX")
	if len(names) > 0 {
		template = names[0]
	}
	base := strings.TrimRight(template, "X")
	for i := range 1000000 {
		name := fmt.Sprintf("%s%06d", base, i)
		if _, err := p.machine.Files.Lstat(p.path(name)); err == nil {
			continue
		}
		var err error
		if has(flags, 'd') {
			err = p.machine.Files.Mkdir(p.path(name), 0o700)
		} else {
			err = p.writeFile(p.path(name), strings.NewReader(""), 0o600)
		}
		if err != nil {
			return p.failPath(name, err)
		}
		p.print("%s\n", name)
		return 0
	}
	return p.fail("too many files")
}

func basename(_ context.Context, p *proc) int {
	if len(p.args) < 2 {
		return p.fail("missing operand")
	}
	name := path.Base(p.args[1])
	if len(p.args) > 2 && name != p.args[2] {
		name = strings.TrimSuffix(name, p.args[2])
	}
	p.print("%s\n", name)
	return 0
}

func dirname(_ context.Context, p *proc) int {
	if len(p.args) < 2 {
		return p.fail("missing operand")
	}
	for _, name := range p.args[1:] {
		p.print("%s\n", path.Dir(strings.TrimRight(name, "/")))
	}
	return 0
}

func readlink(ctx context.Context, p *proc) int {
	flags, names, ok := p.parse("fnve", "")
	if !ok {
		return 1
	}
	if has(flags, 'f') || has(flags, 'e') {
		return realpath(ctx, p)
	}
	for _, name := range names {
		target, err := p.machine.Files.Readlink(p.path(name))
		if err != nil {
			return 1
		}
		p.print("%s\n", target)
	}
	return 0
}

func realpath(_ context.Context, p *proc) int {
	_, names, ok := p.parse("fnveqsm", "")
	if !ok {
		return 1
	}
	code := 0
	for _, name := range names {
		resolved, err := p.machine.Files.Resolve(p.path(name))
		if err != nil {
			code = p.failPath(name, err)
			continue
		}
		p.print("%s\n", resolved)
	}
	return code
}

// listTime formats a time as ls does.
func listTime(t, now time.Time) string {
	if now.Sub(t) > 180*24*time.Hour || t.After(now.Add(time.Hour)) {
		return t.UTC().Format("Jan _2  2006")
	}
	return t.UTC().Format("Jan _2 15:04")
}
