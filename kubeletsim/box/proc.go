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

	"mvdan.cc/sh/v3/interp"
)

// proc is one running program.
type proc struct {
	*session
	args []string
	env  map[string]string
	dir  string
	// in may be nil: there is no input.
	in       io.Reader
	out, err io.Writer
}

// program runs a program and returns its exit code.
type program func(ctx context.Context, p *proc) int

// boxPath is the one binary that all programs are links to, as in BusyBox's images.
const boxPath = "/bin/busybox"

// errNotFound means that a command is in no directory of PATH.
var errNotFound = errors.New("executable file not found in $PATH")

// find finds the program that the arguments name. Its errors are those of a container
// runtime.
func (p *proc) find() (program, error) {
	if len(p.args) == 0 || p.args[0] == "" {
		return nil, &NotStartedError{"no command specified"}
	}
	run, err := p.lookup(p.args[0])
	switch {
	case err == nil:
		return run, nil
	case errors.Is(err, errNotFound):
		return nil, &NotStartedError{fmt.Sprintf("exec: %q: %v", p.args[0], err)}
	case errors.Is(err, fs.ErrPermission):
		return nil, &NotStartedError{fmt.Sprintf("exec: %q: permission denied", p.args[0])}
	}
	return nil, &NotStartedError{fmt.Sprintf("exec: %q: stat %s: no such file or directory", p.args[0], p.args[0])}
}

func (p *proc) lookup(name string) (program, error) {
	if strings.Contains(name, "/") {
		return p.load(p.path(name), path.Base(name))
	}
	found := errNotFound
	for _, dir := range strings.Split(p.env["PATH"], ":") {
		run, err := p.load(path.Join(p.path(dir), name), name)
		switch {
		case err == nil:
			return run, nil
		case errors.Is(err, fs.ErrPermission):
			found = err
		}
	}
	return nil, found
}

// load returns the program of a file: a simulated one, or a script.
func (p *proc) load(file, name string) (program, error) {
	info, err := p.machine.Files.Stat(file)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir() || info.Mode()&0o111 == 0:
		return nil, &fs.PathError{Op: "exec", Path: file, Err: fs.ErrPermission}
	}
	data, err := p.readFile(file)
	if err != nil {
		return nil, err
	}
	if string(data) == binary {
		if run := programs()[name]; run != nil {
			return run, nil
		}
		return busybox, nil
	}
	return func(ctx context.Context, p *proc) int {
		return p.runScript(ctx, string(data), shellFlags{args: p.args[1:], name: p.args[0]})
	}, nil
}

// binary is the content of the programs' file.
const binary = "\x7fELF minikcm: simulated programs\n"

// start runs a program for the shell.
func (s *session) start(ctx context.Context, args []string) error {
	hc := interp.HandlerCtx(ctx)
	p := &proc{session: s, args: args, env: exported(hc.Env), dir: hc.Dir, in: hc.Stdin, out: hc.Stdout, err: hc.Stderr}
	run, err := p.lookup(args[0])
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrPermission):
		p.complain("%s: Permission denied", args[0])
		return interp.ExitStatus(exitNotExecutable)
	default:
		if s.lost(ctx, false) {
			return ctx.Err()
		}
		p.complain("%s: not found", args[0])
		return interp.ExitStatus(exitNotFound)
	}
	if code := run(ctx, p); code != 0 {
		return interp.ExitStatus(uint8(code)) // exit codes are bytes
	}
	return nil
}

// complain writes a shell's error message.
func (p *proc) complain(format string, args ...any) {
	_, _ = fmt.Fprintf(p.err, "sh: "+format+"\n", args...)
}

// fail writes an error message and returns the exit code for it.
func (p *proc) fail(format string, args ...any) int {
	_, _ = fmt.Fprintf(p.err, "%s: %s\n", path.Base(p.args[0]), fmt.Sprintf(format, args...))
	return 1
}

// failPath is fail for an error of a file.
func (p *proc) failPath(name string, err error) int { return p.fail("%s: %s", name, reason(err)) }

// reason returns the C library's text for an error.
func reason(err error) string {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	text := err.Error()
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

func (p *proc) print(format string, args ...any) { _, _ = fmt.Fprintf(p.out, format, args...) }

// path makes a name absolute.
func (p *proc) path(name string) string { return absolute(p.dir, name) }

func absolute(dir, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join("/", dir, name)
}

// stdin returns the program's input: the session's own where the program has inherited it.
func (p *proc) stdin(ctx context.Context) io.Reader {
	switch {
	case p.in == nil:
		return strings.NewReader("")
	case p.input != nil && p.in == io.Reader(p.token):
		return readerFunc(func(into []byte) (int, error) { return p.input.read(ctx, into) })
	}
	return p.in
}

// open opens a file to read; "-" is the standard input.
func (p *proc) open(ctx context.Context, name string) (io.ReadCloser, error) {
	switch name {
	case "-", "/dev/stdin":
		return io.NopCloser(p.stdin(ctx)), nil
	}
	f, err := p.machine.Files.OpenFile(p.path(name), os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (p *proc) readFile(name string) ([]byte, error) {
	f, err := p.machine.Files.OpenFile(p.path(name), os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(f)
}

// inputs calls do for each file that is named, or for the standard input, and returns
// the program's exit code.
func (p *proc) inputs(ctx context.Context, names []string, do func(name string, r io.Reader) error) int {
	code := 0
	if len(names) == 0 {
		names = []string{"-"}
	}
	for _, name := range names {
		f, err := p.open(ctx, name)
		if err == nil {
			err = do(name, f)
			_ = f.Close()
		}
		if err != nil {
			if errors.Is(err, errNoWriter) || ctx.Err() != nil {
				return 1
			}
			code = p.failPath(name, err)
		}
	}
	return code
}
