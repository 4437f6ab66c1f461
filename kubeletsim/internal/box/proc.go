package box

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"

	"minikcm.dev/minikcm/kubeletsim/internal/applets"
	"minikcm.dev/minikcm/kubeletsim/internal/memfs"
	"minikcm.dev/minikcm/kubeletsim/internal/shell"
	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// proc is one running program.
type proc struct {
	*session
	args []string
	env  map[string]string
	dir  string
	// in may be nil: there is no input.
	in             shell.Reader
	stdout, stderr shell.Writer
	// out and err are stdout and stderr, bound to the program's context.
	out, err io.Writer
	seed     uint64
	pid      int
	// shell is the name of the shell that the program is, or that has started it; empty: sh.
	shell string
	// descriptors are further streams that it inherits.
	descriptors map[int]shell.Descriptor
	// awaits means that a file that may be there is not: see shell.Program.
	awaits bool
	// guess records the program's use of unknown text.
	guess *guess
	// held is the memory that the program has reserved.
	held int64
}

// newProc returns a program without streams: see bind.
func (s *session) newProc(ctx context.Context, args []string, env map[string]string, dir string) *proc {
	return &proc{session: s, args: args, env: env, dir: dir, guess: &guess{}}
}

// bind makes out and err write with a context.
func (p *proc) bind(ctx context.Context) {
	p.out, p.err = guessWriter{p.guess, boundWriter(ctx, p.stdout)}, boundWriter(ctx, p.stderr)
}

// inner returns a program that p starts in its place, with p's streams.
func (p *proc) inner(ctx context.Context, args []string, env map[string]string) *proc {
	c := *p
	c.args, c.env, c.held, c.guess = args, env, 0, &guess{}
	c.bind(ctx)
	return &c
}

// keep reserves memory until the program's end.
func (p *proc) keep(n int) error {
	if err := p.Reserve(int64(n)); err != nil {
		return err
	}
	p.held += int64(n)
	return nil
}

// drop releases memory that was reserved.
func (p *proc) drop(n int) {
	p.Release(int64(n))
	p.held -= int64(n)
}

func (p *proc) free() {
	p.Release(p.held)
	p.held = 0
}

// program runs a program and returns its exit code.
type program func(ctx context.Context, p *proc) int

// boxPath is the one binary that all programs are links to, as in BusyBox's images.
const boxPath = "/bin/busybox"

// errNotFound means that a command is in no directory of PATH.
var errNotFound = errors.New("executable file not found in $PATH")

// find finds the program that the arguments name. It returns the errors that a container
// runtime would.
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
		run, err := p.load(p.path(name), path.Base(name))
		if errors.Is(err, unknown.ErrFile) {
			err = nil
		}
		return run, err
	}
	found, perhaps := errNotFound, program(nil)
	for _, dir := range strings.Split(cmp.Or(p.env["PATH"], defaultPath), ":") {
		run, err := p.load(path.Join(p.path(dir), name), name)
		switch {
		case errors.Is(err, unknown.ErrFile):
			perhaps = run
		case err == nil:
			return run, nil
		case errors.Is(err, fs.ErrPermission):
			found = err
		}
	}
	if perhaps != nil {
		return perhaps, nil
	}
	return nil, found
}

// load returns the program of a file: a simulated one, or a script. If the file may be there, load also returns
// unknown.ErrFile; the program is then assumed from its name: the simulated one of that name, or foreign.
func (p *proc) load(file, name string) (program, error) {
	info, err := p.machine.Files.Stat(file)
	switch {
	case errors.Is(err, unknown.ErrFile):
		if run := programs()[name]; run != nil {
			return run, err
		}
		if applets.IsPython(name) {
			return python, err
		}
		return foreign, err
	case err != nil:
		return nil, err
	case info.IsDir() || info.Mode()&0o111 == 0:
		return nil, &fs.PathError{Op: "exec", Path: file, Err: fs.ErrPermission}
	}
	if p.isBinary(file) {
		if run := programs()[name]; run != nil {
			return run, nil
		}
		return busybox, nil
	}
	return func(ctx context.Context, p *proc) int {
		data, err := p.readFile(ctx, file)
		if err != nil {
			p.complain("%s: %s", p.args[0], reason(err))
			return exitNotExecutable
		}
		if unknown.Is(string(data)) || p.guess.made && !strings.HasPrefix(string(data), "#!") {
			return foreign(ctx, p)
		}
		return p.runScript(ctx, string(data), shellFlags{args: p.args[1:], name: p.args[0]})
	}, nil
}

// isBinary reports whether a file is a binary of the simulated programs.
func (p *proc) isBinary(file string) bool {
	f, err := p.machine.Files.OpenFile(file, os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	data := make([]byte, len(binary)+1)
	n, _ := f.Read(data)
	return string(data[:n]) == binary
}

// binary is the content of the programs' file.
const binary = "\x7fELF minikcm: simulated programs\n"

// Run implements shell.Container.
func (s *session) Run(ctx context.Context, c *shell.Program) (int, error) {
	p := s.newProc(ctx, c.Args, c.Env, c.Dir)
	p.in, p.stdout, p.stderr, p.seed, p.pid, p.shell = c.In, c.Out, c.Err, c.Seed, c.PID, c.Shell
	p.awaits, p.descriptors = c.Awaits, c.Descriptors
	p.bind(ctx)
	defer p.free()
	run, err := p.lookup(c.Args[0])
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrPermission):
		p.complain("%s: Permission denied", c.Args[0])
		return exitNotExecutable, nil
	default:
		p.complain("%s: not found", c.Args[0])
		return exitNotFound, nil
	}
	code := p.execute(ctx, run)
	return code & (unknown.Status | 0xff), ctx.Err() // exit codes are bytes
}

// complain writes a shell's error message, which begins with its name as in BusyBox's.
func (p *proc) complain(format string, args ...any) {
	_, _ = fmt.Fprintf(p.err, "%s: %s\n", cmp.Or(p.shell, "sh"), fmt.Sprintf(format, args...))
}

// fail writes an error message and returns the exit code for it.
func (p *proc) fail(format string, args ...any) int {
	_, _ = fmt.Fprintf(p.err, "%s: %s\n", path.Base(p.args[0]), fmt.Sprintf(format, args...))
	return 1
}

// failPath is fail for an error of a file.
func (p *proc) failPath(name string, err error) int {
	switch {
	case !errors.Is(err, unknown.ErrFile):
	case p.awaits:
		err = syscall.ENOENT
	default:
		return p.unsure(name)
	}
	return p.fail("%s: %s", name, reason(err))
}

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

// stdin returns the program's input, bound to its context.
func (p *proc) stdin(ctx context.Context) io.Reader {
	if p.in == nil {
		return strings.NewReader("")
	}
	return &guessReader{guess: p.guess, r: boundReader(ctx, p.in)}
}

// open opens a file to read; "-" is the standard input.
func (p *proc) open(ctx context.Context, name string) (io.Reader, error) {
	switch name {
	case "-", "/dev/stdin":
		return p.stdin(ctx), nil
	}
	if d, ok := p.inherited(name); ok {
		if d.In == nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		return &guessReader{guess: p.guess, r: boundReader(ctx, d.In)}, nil
	}
	if _, err := p.machine.Files.Stat(p.path(name)); p.awaits && errors.Is(err, unknown.ErrFile) {
		return nil, err
	}
	f, err := p.openFile(p.path(name))
	if err != nil {
		return nil, err
	}
	return &guessReader{guess: p.guess, r: boundReader(ctx, plainReader{f})}, nil
}

// inherited returns the stream that a name such as /dev/fd/3 stands for; ok means that it is such a name.
func (p *proc) inherited(name string) (d shell.Descriptor, ok bool) {
	for _, prefix := range []string{"/dev/fd/", "/proc/self/fd/"} {
		if number, found := strings.CutPrefix(p.path(name), prefix); found {
			fd, err := strconv.Atoi(number)
			switch {
			case err != nil:
			case fd == 0 && p.in != nil:
				d.In = p.in
			case fd == 1:
				d.Out = p.stdout
			case fd == 2:
				d.Out = p.stderr
			default:
				d = p.descriptors[fd]
			}
			return d, true
		}
	}
	return d, false
}

// create opens a file to write, with the flags of os.OpenFile.
func (p *proc) create(ctx context.Context, name string, flag int) (io.Writer, error) {
	d, ok := p.inherited(name)
	if !ok {
		return p.machine.Files.OpenFile(p.path(name), flag, 0o644)
	}
	if d.Out == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return boundWriter(ctx, d.Out), nil
}

// readFile reads a file at once. Its memory is kept until the program's end.
func (p *proc) readFile(ctx context.Context, name string) ([]byte, error) {
	f, err := p.open(ctx, name)
	if err != nil {
		return nil, err
	}
	return p.readAll(f)
}

// openFile opens a file to be read. It notes that a file of unknown content is assumed to be there.
func (s *session) openFile(name string) (*memfs.File, error) {
	f, err := s.machine.Files.OpenFile(name, os.O_RDONLY, 0)
	if err == nil && f.Assumed() {
		s.Assume(unknown.Show(name) + " exists")
	}
	return f, err
}

// readAll reads an input to its end. Its memory is kept until the program's end.
func (p *proc) readAll(r io.Reader) ([]byte, error) {
	var data []byte
	for {
		if len(data) == cap(data) {
			more := max(4096, cap(data))
			if err := p.keep(more); err != nil {
				return nil, err
			}
			data = append(make([]byte, 0, cap(data)+more), data...)
		}
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return data, err
		}
	}
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
		}
		if err != nil {
			if errors.Is(err, errNoWriter) || errors.Is(err, shell.ErrOutOfMemory) || ctx.Err() != nil {
				return 1
			}
			code = p.failPath(name, err)
		}
	}
	return code
}
