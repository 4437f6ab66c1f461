package box

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// operands returns the sources and the target of cp, mv, ln and install. whole is whether the target is the
// name of the result also if it is a directory.
func (p *proc) operands(flags map[byte]string, names []string) (from []string, to string, whole, ok bool) {
	if dir, given := flags['t']; given {
		return names, dir, false, len(names) > 0
	}
	if len(names) < 2 {
		p.fail("missing file operand")
		return nil, "", false, false
	}
	from, to = names[:len(names)-1], names[len(names)-1]
	if len(from) > 1 {
		info, err := p.machine.Files.Stat(p.path(to))
		if err == nil && !info.IsDir() && info.Mode()&fs.ModeIrregular == 0 || errors.Is(err, fs.ErrNotExist) {
			p.fail("target '%s' is not a directory", to)
			return nil, "", false, false
		}
	}
	return from, to, has(flags, 'T'), true
}

// place returns the path of a file after a copy or move to target.
func (p *proc) place(name, target string, whole, several bool) string {
	if whole {
		return p.path(target)
	}
	if _, err := p.machine.Files.Stat(p.path(target)); errors.Is(err, unknown.ErrFile) && (several || strings.HasSuffix(target, "/")) {
		return path.Join(p.path(target), path.Base(p.path(name)))
	}
	return p.into(name, target)
}

// copying is one call of cp.
type copying struct {
	*proc
	deep, keepLinks, noClobber, newer, verbose bool
}

func cp(ctx context.Context, p *proc) int {
	flags, names, ok := p.parse("rRafpdvnuLPHTilx", "t")
	if !ok {
		return 1
	}
	from, to, whole, ok := p.operands(flags, names)
	if !ok {
		return 1
	}
	c := &copying{
		proc: p, deep: has(flags, 'r') || has(flags, 'R') || has(flags, 'a'), keepLinks: has(flags, 'a') || has(flags, 'd') || has(flags, 'P'),
		noClobber: has(flags, 'n'), verbose: has(flags, 'v'),
	}
	switch flags['u'] {
	case "":
	case "none", "none-fail":
		c.noClobber = true
	case "all":
	default:
		c.newer = true
	}
	if has(flags, 'l') {
		return p.unsupported("-l")
	}
	code := 0
	for _, name := range from {
		target := p.place(name, to, whole, len(from) > 1)
		if has(flags, 'x') { // --parents
			target = path.Join(p.path(to), name)
			if err := p.machine.Files.MkdirAll(path.Dir(target), 0o755); err != nil {
				code = p.failPath(name, err)
				continue
			}
		}
		if strings.HasSuffix(name, "/.") || name == "." {
			target = p.path(to)
		}
		if err := c.copy(ctx, p.path(name), target); err != nil {
			code = p.failPath(name, err)
		}
	}
	return code
}

func (c *copying) copy(ctx context.Context, from, to string) error {
	files := c.machine.Files
	info, err := files.Stat(from)
	if c.keepLinks {
		info, err = files.Lstat(from)
	}
	switch {
	case errors.Is(err, unknown.ErrFile), err == nil && info.Mode()&fs.ModeIrregular != 0:
		return c.copyUnknown(from, to)
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := files.Readlink(from)
		if err != nil {
			return err
		}
		_ = files.Remove(to)
		return files.Symlink(target, to)
	case !info.IsDir():
		return c.copyOne(ctx, from, to, info)
	case !c.deep:
		return fmt.Errorf("omitting directory")
	case strings.HasPrefix(to+"/", from+"/"):
		return fmt.Errorf("cannot copy a directory into itself")
	}
	partial := files.Partial(from)
	entries, err := files.ReadDir(from)
	if err != nil {
		return err
	}
	if err := files.MkdirAll(to, info.Mode().Perm()); err != nil {
		return err
	}
	for _, entry := range entries {
		if err := c.copy(ctx, path.Join(from, entry.Name()), path.Join(to, entry.Name())); err != nil {
			return err
		}
	}
	if partial {
		c.Assume(unknown.Show(from) + " has the files that are copied")
		return files.Obscure(to)
	}
	return nil
}

// copyOne copies a file, unless the options leave an existing one alone.
func (c *copying) copyOne(ctx context.Context, from, to string, info fs.FileInfo) error {
	if there, err := c.machine.Files.Stat(to); err == nil {
		if c.noClobber || c.newer && !info.ModTime().After(there.ModTime()) {
			return nil
		}
	}
	if c.verbose {
		c.print("'%s' -> '%s'\n", from, to)
	}
	return c.copyFile(ctx, from, to, info.Mode())
}

// copyUnknown copies what may be there: a file of unknown content, or something of which not even the type is
// known. A directory that gets it has further entries.
func (c *copying) copyUnknown(from, to string) error {
	c.Assume(unknown.Show(from) + " exists")
	files := c.machine.Files
	info, err := files.Stat(to)
	switch {
	case unknown.In(path.Base(from)):
		return files.Obscure(path.Dir(to))
	case err == nil && info.IsDir(): // a directory's content goes into it
		return files.Obscure(to)
	case err == nil && c.noClobber:
		return nil
	case c.deep:
		return files.PutUnknown(to)
	}
	return c.writeFile(to, strings.NewReader(unknown.Line), 0o755)
}

func (p *proc) copyFile(ctx context.Context, from, to string, mode fs.FileMode) error {
	if from == to {
		return fmt.Errorf("'%s' and '%s' are the same file", from, to)
	}
	f, err := p.openFile(from)
	if err != nil {
		return err
	}
	return p.writeFile(to, boundReader(ctx, plainReader{f}), mode)
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
	flags, names, ok := p.parse("fnvuTib", "t")
	if !ok {
		return 1
	}
	from, to, whole, ok := p.operands(flags, names)
	if !ok {
		return 1
	}
	code := 0
	for _, name := range from {
		target := p.place(name, to, whole, len(from) > 1)
		if _, err := p.machine.Files.Lstat(target); err == nil && has(flags, 'n') {
			continue
		}
		if _, err := p.machine.Files.Lstat(p.path(name)); errors.Is(err, unknown.ErrFile) {
			p.Assume(unknown.Show(p.path(name)) + " exists")
		}
		if err := p.machine.Files.Rename(p.path(name), target); err != nil {
			code = p.fail("can't rename '%s': %s", name, reason(err))
			continue
		}
		if has(flags, 'v') {
			p.print("renamed '%s' -> '%s'\n", name, target)
		}
	}
	return code
}

func ln(ctx context.Context, p *proc) int {
	flags, names, ok := p.parse("sfnvTrbi", "t")
	if !ok {
		return 1
	}
	if len(names) == 1 {
		names = append(names, ".")
	}
	from, to, whole, ok := p.operands(flags, names)
	if !ok {
		return 1
	}
	if info, err := p.machine.Files.Lstat(p.path(to)); has(flags, 'n') && err == nil && info.Mode()&fs.ModeSymlink != 0 {
		whole = true // it is taken for the name of the link
	}
	code := 0
	for _, name := range from {
		link := p.place(name, to, whole, len(from) > 1)
		if has(flags, 'f') {
			_ = p.machine.Files.Remove(link)
		}
		if err := p.link(ctx, name, link, has(flags, 's')); err != nil {
			code = p.failPath(link, err)
		} else if has(flags, 'v') {
			p.print("'%s' -> '%s'\n", link, name)
		}
	}
	return code
}

// link makes a symbolic link. In place of a hard link it makes a copy, which differs once one of them changes.
func (p *proc) link(ctx context.Context, name, link string, symbolic bool) error {
	if symbolic {
		return p.machine.Files.Symlink(name, link)
	}
	if _, err := p.machine.Files.Lstat(link); err == nil {
		return fs.ErrExist
	}
	return (&copying{proc: p}).copy(ctx, p.path(name), link)
}

// install copies files with a mode, or makes directories.
func install(ctx context.Context, p *proc) int {
	flags, names, ok := p.parse("dDvcCpsTb", "mogt")
	if !ok {
		return 1
	}
	mode := fs.FileMode(0o755)
	if text, given := flags['m']; given {
		if mode, ok = newMode(0, text); !ok {
			return p.fail("invalid mode '%s'", text)
		}
	}
	code := 0
	if has(flags, 'd') {
		for _, name := range names {
			if err := p.machine.Files.MkdirAll(p.path(name), mode); err != nil {
				code = p.failPath(name, err)
			}
		}
		return code
	}
	from, to, whole, ok := p.operands(flags, names)
	if !ok {
		return 1
	}
	for _, name := range from {
		target := p.place(name, to, whole, len(from) > 1)
		var err error
		if has(flags, 'D') {
			err = p.machine.Files.MkdirAll(path.Dir(target), 0o755)
		}
		if err == nil {
			err = (&copying{proc: p}).copy(ctx, p.path(name), target)
		}
		if err == nil {
			err = p.machine.Files.Chmod(target, mode)
		}
		if err != nil {
			code = p.failPath(name, err)
		}
	}
	return code
}

// reached calls do for files, with -R also for those beneath them.
func (p *proc) reached(names []string, beneath bool, do func(name string) error) int {
	code := 0
	for _, name := range names {
		err := error(nil)
		if beneath {
			err = p.walk(name, 0, func(name string, info fs.FileInfo, _ int) error {
				if info.Mode()&fs.ModeSymlink != 0 {
					return nil
				}
				return do(name)
			})
		} else {
			err = do(name)
		}
		if err != nil {
			code = p.failPath(name, err)
		}
	}
	return code
}

func chmod(_ context.Context, p *proc) int {
	args := p.args[1:]
	for i, arg := range args { // -x and -rw are modes
		if len(arg) > 1 && arg[0] == '-' && strings.Trim(arg[1:], "rwxXst") == "" && strings.Trim(arg[1:], "R") == arg[1:] {
			args = append(append(append([]string{}, args[:i]...), "a"+arg), args[i+1:]...)
			break
		}
	}
	flags, names, other := options(args, "Rvfc", "", longOptions("chmod"))
	if other != "" {
		return p.unsupported(other)
	}
	mode, model := "", flags['=']
	if model == "" && len(names) > 0 {
		mode, names = names[0], names[1:]
	}
	if len(names) == 0 {
		return p.fail("a mode and a file are needed")
	}
	return p.reached(names, has(flags, 'R'), func(name string) error {
		info, err := p.machine.Files.Stat(p.path(name))
		if err != nil {
			return err
		}
		perm, ok := info.Mode().Perm(), true
		if model == "" {
			perm, ok = newMode(perm, mode)
		} else if like, err := p.machine.Files.Stat(p.path(model)); err == nil {
			perm = like.Mode().Perm()
		}
		if !ok {
			return fmt.Errorf("invalid mode '%s'", mode)
		}
		if has(flags, 'v') {
			p.print("mode of '%s' changed to %04o\n", name, perm)
		}
		return p.machine.Files.Chmod(p.path(name), perm)
	})
}

// chown changes nothing: all belongs to root.
func chown(_ context.Context, p *proc) int {
	flags, names, ok := p.parse("RvfhcHLP", "")
	if !ok {
		return 1
	}
	if !has(flags, '=') && len(names) > 0 {
		names = names[1:]
	}
	if len(names) == 0 {
		return p.fail("an owner and a file are needed")
	}
	return p.reached(names, has(flags, 'R'), func(name string) error {
		_, err := p.machine.Files.Lstat(p.path(name))
		return err
	})
}

func unlink(_ context.Context, p *proc) int {
	code := 0
	for _, name := range p.args[1:] {
		if err := p.machine.Files.Remove(p.path(name)); err != nil {
			code = p.failPath(name, err)
		}
	}
	return code
}
