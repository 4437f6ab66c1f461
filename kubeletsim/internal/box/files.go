package box

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"minikcm.dev/minikcm/kubeletsim/internal/applets"
	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

func mkdir(_ context.Context, p *proc) int {
	flags, names, ok := p.parse("pvZ", "m")
	if !ok {
		return 1
	}
	mode := fs.FileMode(0o755)
	if has(flags, 'm') {
		if mode, ok = newMode(0o777, flags['m']); !ok {
			return p.fail("invalid mode '%s'", flags['m'])
		}
	}
	code := 0
	for _, name := range names {
		do := p.machine.Files.Mkdir
		if has(flags, 'p') {
			do = p.machine.Files.MkdirAll
		}
		_, missing := p.machine.Files.Stat(p.path(name))
		if err := do(p.path(name), mode); err != nil {
			code = p.fail("can't create directory '%s': %s", name, reason(err))
		} else if has(flags, 'v') && missing != nil {
			p.print("created directory: '%s'\n", name)
		}
	}
	return code
}

func rm(_ context.Context, p *proc) int {
	flags, names, ok := p.parse("rRfivdIx", "")
	if !ok {
		return 1
	}
	code := 0
	for _, name := range names {
		info, err := p.machine.Files.Lstat(p.path(name))
		switch {
		case errors.Is(err, unknown.ErrFile):
			err = p.machine.Files.RemoveAll(p.path(name)) // it is not there from now on
		case err != nil:
		case has(flags, 'r') || has(flags, 'R'):
			err = p.machine.Files.RemoveAll(p.path(name))
		case info.IsDir() && !has(flags, 'd'):
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
	_, names, ok := p.parse("pv", "")
	if !ok {
		return 1
	}
	code := 0
	for _, name := range names {
		info, err := p.machine.Files.Lstat(p.path(name))
		if errors.Is(err, unknown.ErrFile) {
			_ = p.machine.Files.Remove(p.path(name)) // it is not there from now on
			continue
		}
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

func touch(_ context.Context, p *proc) int {
	flags, names, ok := p.parse("camhf", "drt")
	if !ok {
		return 1
	}
	at := p.machine.Clock.Now()
	if text, given := flags['d']; given {
		if at, ok = applets.ParseDate(text, at); !ok {
			return p.fail("invalid date format '%s'", text)
		}
	}
	code := 0
	for _, name := range names {
		if _, err := p.machine.Files.Stat(p.path(name)); has(flags, 'c') && err != nil {
			continue
		}
		f, err := p.machine.Files.OpenFile(p.path(name), os.O_RDONLY|os.O_CREATE, 0o644)
		if err == nil {
			_ = f.Close()
			err = p.machine.Files.Chtimes(p.path(name), at)
		}
		if err != nil {
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

func mktemp(_ context.Context, p *proc) int {
	flags, names, ok := p.parse("dqut", "p")
	if !ok {
		return 1
	}
	dir := "/tmp"
	if set := p.env["TMPDIR"]; set != "" {
		dir = set
	}
	if value := flags['p']; value != "" && value != "set" {
		dir = value
	}
	template := path.Join(dir, "tmp.XXXXXX")
	switch {
	case len(names) > 0 && (has(flags, 't') || has(flags, 'p')):
		template = path.Join(dir, names[0])
	case len(names) > 0:
		template = names[0]
	}
	suffix := flags['s']
	if i := strings.LastIndexByte(template, 'X'); i >= 0 {
		template, suffix = template[:i+1], template[i+1:]+suffix
	}
	base := strings.TrimRight(template, "X")
	for i := range 1000000 {
		name := fmt.Sprintf("%s%06d%s", base, i, suffix)
		if _, err := p.machine.Files.Lstat(p.path(name)); err == nil {
			continue
		}
		var err error
		switch {
		case has(flags, 'u'):
		case has(flags, 'd'):
			err = p.machine.Files.Mkdir(p.path(name), 0o700)
		default:
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
	flags, names, ok := p.parse("fnvemqsz", "")
	if !ok {
		return 1
	}
	if has(flags, 'f') || has(flags, 'e') || has(flags, 'm') {
		return realpath(ctx, p)
	}
	for _, name := range names {
		target, err := p.machine.Files.Readlink(p.path(name))
		if errors.Is(err, unknown.ErrFile) {
			return p.unsure(name)
		}
		if err != nil {
			return 1
		}
		p.print("%s\n", target)
	}
	return 0
}

func realpath(_ context.Context, p *proc) int {
	flags, names, ok := p.parse("fnveqsmLPz", "")
	if !ok {
		return 1
	}
	code := 0
	for _, name := range names {
		resolved, err := p.machine.Files.Resolve(p.path(name))
		if os.IsNotExist(err) && !has(flags, 'e') { // only the last part is missing, or that does not matter
			if _, above := p.machine.Files.Stat(path.Dir(p.path(name))); above == nil || has(flags, 'm') {
				resolved, err = p.path(name), nil
			}
		}
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
