package box

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// shellFlags are the arguments of a shell.
type shellFlags struct {
	// name is $0; args are $1 and so on.
	name string
	args []string
	// set are options such as -e.
	set []string
}

// shell runs sh, under any of its names.
func shell(ctx context.Context, p *proc) int {
	flags := shellFlags{name: p.args[0]}
	args := p.args[1:]
	command, interactive := false, false
	for ; len(args) > 0 && len(args[0]) > 1 && strings.ContainsAny(args[0][:1], "-+"); args = args[1:] {
		if args[0] == "--" {
			args = args[1:]
			break
		}
		if args[0] == "--login" || args[0] == "--norc" || args[0] == "--noprofile" {
			continue
		}
		if args[0] == "-o" && len(args) > 1 {
			flags.set = append(flags.set, "-o", args[1])
			args = args[1:]
			continue
		}
		for _, c := range args[0][1:] {
			switch c {
			case 'c':
				command = true
			case 'i':
				interactive = true
			case 'l', 's':
			case 'e', 'u', 'x', 'f', 'a', 'n':
				flags.set = append(flags.set, args[0][:1]+string(c))
			default:
				p.complain("%s: invalid option", args[0])
				return 2
			}
		}
	}
	switch {
	case command && len(args) == 0:
		p.complain("-c requires an argument")
		return 2
	case command:
		if len(args) > 1 {
			flags.name, flags.args = args[1], args[2:]
		}
		return p.runScript(ctx, args[0], flags)
	case len(args) > 0:
		data, err := p.readFile(args[0])
		if err != nil {
			p.complain("can't open '%s': %s", args[0], reason(err))
			return 2
		}
		flags.name, flags.args = args[0], args[1:]
		return p.runScript(ctx, string(data), flags)
	}
	fromSession := p.input != nil && p.in == io.Reader(p.token)
	return p.readEvalPrint(ctx, flags, fromSession && (p.tty || interactive))
}

// runScript runs a whole script.
func (p *proc) runScript(ctx context.Context, script string, flags shellFlags) int {
	file, err := newParser().Parse(strings.NewReader(script), flags.name)
	if err != nil {
		p.complain("%s", syntaxError(err))
		return 2
	}
	r, err := p.runner(flags)
	if err != nil {
		p.complain("%v", err)
		return 2
	}
	err = r.Run(ctx, file)
	if trap := p.machine.Main.take(); trap != "" && !r.Exited() {
		if file, parseErr := newParser().Parse(strings.NewReader(trap), flags.name); parseErr == nil {
			err = r.Run(ctx, file)
		}
	}
	return p.status(ctx, err)
}

func newParser() *syntax.Parser { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }

func syntaxError(err error) string { return "syntax error: " + err.Error() }

// status returns the exit code for the end of a shell.
func (p *proc) status(ctx context.Context, err error) int {
	var status interp.ExitStatus
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	case ctx.Err() != nil:
		return exitInterrupted
	case errors.Is(err, errNoWriter):
		return 1
	}
	p.complain("%v", err)
	return 1
}

// readEvalPrint reads and runs commands one by one.
func (p *proc) readEvalPrint(ctx context.Context, flags shellFlags, prompting bool) int {
	r, err := p.runner(flags)
	if err != nil {
		p.complain("%v", err)
		return 2
	}
	in := p.lines(ctx)
	prompt := func(text string) {
		if prompting {
			p.print("%s", text)
		}
	}
	code := 0
	var pending string
	front, done := ctx, func() {}
	defer func() { done() }()
	for {
		done()
		front, done = p.foreground(ctx, prompting)
		if pending == "" {
			prompt(shortDir(r.Dir) + " # ")
		} else {
			prompt("> ")
		}
		line, err := in(front)
		switch {
		case interrupted(ctx, front):
			pending, code = "", exitInterrupted
			showStatus(ctx, r, code)
			continue
		case err != nil && len(line) == 0:
			if pending != "" {
				p.complain("syntax error: unexpected end of file")
				return 2
			}
			if prompting {
				p.print("\n")
			}
			return code
		}
		pending += string(line)
		file, parseErr := newParser().Parse(strings.NewReader(pending), "")
		if syntax.IsIncomplete(parseErr) && err == nil {
			continue
		}
		pending = ""
		if parseErr != nil {
			p.complain("%s", syntaxError(parseErr))
			code = 2
			continue
		}
		for _, stmt := range file.Stmts {
			code = p.status(front, r.Run(front, stmt))
			// An interrupted runner reports that it has exited, too.
			if interrupted(ctx, front) {
				showStatus(ctx, r, code)
				break
			}
			if r.Exited() || ctx.Err() != nil {
				return code
			}
		}
	}
}

// foreground returns the context of a line and of the statements in it, which an
// interrupt ends at whichever point they are. Without a terminal it is ctx.
func (p *proc) foreground(ctx context.Context, prompting bool) (context.Context, func()) {
	if !prompting {
		return ctx, func() {}
	}
	return p.interrupts.foreground(ctx)
}

// showStatus sets $? to the status of an interrupt.
func showStatus(ctx context.Context, r *interp.Runner, code int) {
	file, err := newParser().Parse(strings.NewReader("(exit "+strconv.Itoa(code)+")"), "")
	if err == nil {
		_ = r.Run(ctx, file.Stmts[0]) // its status is the point
	}
}

// interrupted reports whether only the foreground was to end.
func interrupted(ctx, front context.Context) bool { return front.Err() != nil && ctx.Err() == nil }

func shortDir(dir string) string {
	if dir == "/root" {
		return "~"
	}
	return dir
}

// lines reads the program's input line by line, never beyond the line.
func (p *proc) lines(ctx context.Context) func(ctx context.Context) ([]byte, error) {
	if p.input != nil && p.in == io.Reader(p.token) {
		return p.input.line
	}
	r := p.stdin(ctx)
	return func(context.Context) ([]byte, error) {
		var line bytes.Buffer
		var c [1]byte
		for {
			n, err := r.Read(c[:])
			line.Write(c[:n])
			if err != nil || c[0] == '\n' {
				return line.Bytes(), err
			}
		}
	}
}

// builtin runs a program that shells have built in.
func builtin(ctx context.Context, p *proc) int {
	name := p.args[0][strings.LastIndexByte(p.args[0], '/')+1:]
	return p.runScript(ctx, name+` "$@"`, shellFlags{args: p.args[1:]})
}

// runner returns the interpreter of one shell.
func (p *proc) runner(flags shellFlags) (*interp.Runner, error) {
	s, files := p.session, p.machine.Files
	at := func(r *interp.Runner) error {
		r.Dir = p.dir
		return nil
	}
	env := &environ{vars: p.env}
	r, err := interp.New(
		at, interp.Env(env), interp.StdIO(p.in, p.out, p.err),
		interp.Params(append(append(flags.set, "--"), flags.args...)...),
		interp.CallHandler(s.call),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return s.start }),
		interp.OpenHandler(s.openFile),
		interp.ReadDirHandler2(func(_ context.Context, name string) ([]fs.DirEntry, error) { return files.ReadDir(name) }),
		interp.StatHandler(func(_ context.Context, name string, follow bool) (fs.FileInfo, error) {
			if follow {
				return files.Stat(name)
			}
			return files.Lstat(name)
		}),
		interp.AccessHandler(func(_ context.Context, name string, mode interp.AccessMode) error {
			info, err := files.Stat(name)
			if err == nil && mode&interp.AccessExec != 0 && info.Mode()&0o111 == 0 {
				err = &fs.PathError{Op: "access", Path: name, Err: fs.ErrPermission}
			}
			return err
		}),
	)
	if err != nil {
		return nil, err
	}
	r.Reset()
	env.ready = true
	return r, nil
}

// call is the interpreter's hook before every command. For a command that reads a line from the
// session's input within the interpreter, call makes that line available.
func (s *session) call(ctx context.Context, args []string) ([]string, error) {
	if s.machine.Main != nil {
		args = s.mainCall(ctx, args)
	}
	switch args[0] {
	case "kill", "umask": // the interpreter knows the names only
		return append([]string{"/bin/" + args[0]}, args[1:]...), nil
	case "read", "mapfile", "readarray":
	default:
		return args, nil
	}
	if s.input == nil || interp.HandlerCtx(ctx).Stdin != io.Reader(s.token) {
		return args, nil
	}
	for {
		line, err := s.input.line(ctx)
		if len(line) > 0 {
			// A pipe buffers at least this much without a reader.
			if _, writeErr := s.other.Write(line[:min(len(line), pipeSize)]); writeErr != nil {
				return args, nil
			}
		}
		if err != nil {
			if len(line) == 0 || args[0] != "read" {
				_ = s.other.Close()
			}
			return args, nil
		}
		if args[0] == "read" && !bytes.HasSuffix(line, []byte("\\\n")) {
			return args, nil
		}
	}
}

const pipeSize = 60000

// openFile opens what a redirection names.
func (s *session) openFile(ctx context.Context, name string, flag int, perm os.FileMode) (io.ReadWriteCloser, error) {
	hc := interp.HandlerCtx(ctx)
	switch name {
	case "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1":
		return &standard{Writer: hc.Stdout}, nil
	case "/dev/stderr", "/dev/fd/2", "/proc/self/fd/2":
		return &standard{Writer: hc.Stderr}, nil
	case "/dev/tty":
		return &standard{Writer: s.out}, nil
	case "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0":
		p := &proc{session: s, in: hc.Stdin}
		return &standard{Reader: p.stdin(ctx)}, nil
	}
	f, err := s.machine.Files.OpenFile(absolute(hc.Dir, name), flag, perm)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// standard is one of the standard streams opened by its name.
type standard struct {
	io.Reader
	io.Writer
}

func (*standard) Close() error { return nil }

// environ is the variables of a shell.
type environ struct {
	vars map[string]string
	// ready is whether the interpreter has chosen its directory for temporary files.
	ready bool
}

// hiddenTemp is an impossible directory. Without it, process substitution would create files on
// the host.
const hiddenTemp = "/\x00"

// Get implements expand.Environ.
func (e *environ) Get(name string) expand.Variable {
	if name == "TMPDIR" && !e.ready {
		return expand.Variable{Set: true, Kind: expand.String, Str: hiddenTemp}
	}
	switch name {
	case "UID", "EUID", "GID":
		return expand.Variable{Set: true, ReadOnly: true, Kind: expand.String, Str: "0"}
	}
	value, ok := e.vars[name]
	return expand.Variable{Set: ok, Exported: ok, Kind: expand.String, Str: value}
}

// Each implements expand.Environ.
func (e *environ) Each(do func(name string, vr expand.Variable) bool) {
	for name, value := range e.vars {
		if !do(name, expand.Variable{Set: true, Exported: true, Kind: expand.String, Str: value}) {
			return
		}
	}
}

// exported returns the variables that a program inherits.
func exported(env expand.Environ) map[string]string {
	vars := map[string]string{}
	env.Each(func(name string, vr expand.Variable) bool {
		switch {
		case !vr.IsSet():
			delete(vars, name)
		case vr.Exported && vr.Kind == expand.String:
			vars[name] = vr.Str
		}
		return true
	})
	return vars
}
