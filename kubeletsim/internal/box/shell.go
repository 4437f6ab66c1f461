package box

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"minikcm.dev/minikcm/kubeletsim/internal/shell"
	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// shellFlags are the arguments of a shell.
type shellFlags struct {
	// name is $0; args are $1 and so on.
	name string
	args []string
	// set are options such as -e.
	set []string
}

// runShell runs sh, under any of its names.
func runShell(ctx context.Context, p *proc) int {
	flags := shellFlags{name: p.args[0]}
	p.shell = flags.name
	args := p.args[1:]
	command, interactive, fromInput := false, false, false
	for ; len(args) > 0 && len(args[0]) > 1 && strings.ContainsAny(args[0][:1], "-+"); args = args[1:] {
		if args[0] == "--" {
			args = args[1:]
			break
		}
		if args[0] == "--login" || args[0] == "--norc" || args[0] == "--noprofile" || args[0] == "--posix" {
			continue
		}
		word := args[0]
		for _, c := range word[1:] {
			switch c {
			case 'o', 'O':
				if len(args) < 2 {
					p.complain("%s: option requires an argument", word)
					return 2
				}
				if args = args[1:]; c == 'o' {
					flags.set = append(flags.set, word[:1]+"o", args[0])
				}
			case 'c':
				command = true
			case 'i':
				interactive = true
			case 's':
				fromInput = true
			case 'l', 'h', 'm', 'B', 'b', 'p', 'E', 'T', 'v':
			case 'e', 'u', 'x', 'f', 'a', 'n', 'C':
				flags.set = append(flags.set, word[:1]+string(c))
			default:
				p.complain("%s: invalid option", word)
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
			p.shell = flags.name
		}
		return p.runScript(ctx, args[0], flags)
	case fromInput:
		flags.args = args
	case len(args) > 0:
		data, err := p.readFile(ctx, args[0])
		if err != nil {
			p.complain("can't open '%s': %s", args[0], reason(err))
			return 2
		}
		if unknown.Is(string(data)) {
			return foreign(ctx, p.inner(ctx, args, p.env))
		}
		flags.name, flags.args = args[0], args[1:]
		p.shell = flags.name
		return p.runScript(ctx, string(data), flags)
	}
	fromSession := p.input != nil && p.in == p.token
	return p.readEvalPrint(ctx, flags, fromSession && (p.tty || interactive))
}

// runScript runs a whole script.
func (p *proc) runScript(ctx context.Context, script string, flags shellFlags) int {
	if p.keep(processBytes) != nil {
		return exitKilled
	}
	sh := p.newShell(ctx, flags, false)
	defer sh.Close()
	return p.status(ctx, sh, sh.Run(ctx, script))
}

// newShell returns the interpreter of one shell.
func (p *proc) newShell(ctx context.Context, flags shellFlags, interactive bool) *shell.Shell {
	sh := shell.New(ctx, shell.Config{
		Container: p.session, Name: flags.name, Args: flags.args, Env: p.env, Dir: p.dir, In: p.in, Out: p.stdout, Err: p.stderr, Descriptors: p.descriptors,
		Seed: p.seed, PID: p.pid, Lasts: p.machine.Lasts, UID: p.machine.User.UID, GID: p.machine.User.GID, Interactive: interactive,
	})
	if len(flags.set) > 0 {
		sh.SetOption(flags.set)
	}
	return sh
}

func syntaxError(err error) string { return "syntax error: " + err.Error() }

// status returns the exit code for the end of a shell.
func (p *proc) status(ctx context.Context, sh *shell.Shell, err error) int {
	switch {
	case err == nil:
		return sh.Status()
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
	sh := p.newShell(ctx, flags, prompting)
	defer sh.Close()
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
			prompt(p.shortDir(sh.Dir) + p.sigil())
		} else {
			prompt("> ")
		}
		line, err := in(front)
		switch {
		case interrupted(ctx, front):
			pending, code = "", exitInterrupted
			sh.SetStatus(code)
			continue
		case err != nil && len(line) == 0:
			if pending != "" {
				p.complain("syntax error: unexpected end of file")
				return 2
			}
			if prompting {
				p.print("\n")
			}
			sh.SetStatus(code)
			return p.status(ctx, sh, sh.Run(ctx, ""))
		}
		pending += string(line)
		file, parseErr := shell.Parse(ctx, pending, "")
		if incomplete(parseErr) && err == nil {
			continue
		}
		pending = ""
		if parseErr != nil {
			p.complain("%s", syntaxError(parseErr))
			code = 2
			continue
		}
		for _, stmt := range file.Stmts {
			code = p.status(front, sh, sh.RunStmt(front, stmt))
			if interrupted(ctx, front) {
				sh.SetStatus(code)
				break
			}
			if sh.Exited() || ctx.Err() != nil {
				return code
			}
		}
	}
}

// incomplete reports whether a syntax error may be gone with the next line.
func incomplete(err error) bool {
	var parseErr syntax.ParseError
	return syntax.IsIncomplete(err) || errors.As(err, &parseErr) && strings.HasPrefix(parseErr.Text, "unclosed here-document")
}

// foreground returns the context of a line and of the statements in it, which an
// interrupt ends at whichever point they are. Without a terminal it is ctx.
func (p *proc) foreground(ctx context.Context, prompting bool) (context.Context, func()) {
	if !prompting {
		return ctx, func() {}
	}
	return p.interrupts.foreground(ctx)
}

// interrupted reports whether only the foreground was to end.
func interrupted(ctx, front context.Context) bool { return front.Err() != nil && ctx.Err() == nil }

// shortDir returns a directory as the prompt shows it.
func (s *session) shortDir(dir string) string {
	if home := s.home(); dir == home && home != "/" {
		return "~"
	}
	return dir
}

// sigil returns the end of the prompt, which differs for root.
func (s *session) sigil() string {
	if s.machine.User.UID == 0 {
		return " # "
	}
	return " $ "
}

// lines reads the program's input line by line, never beyond the line.
func (p *proc) lines(ctx context.Context) func(ctx context.Context) ([]byte, error) {
	if p.input != nil && p.in == p.token {
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
	sh := p.newShell(ctx, shellFlags{name: "sh"}, false)
	defer sh.Close()
	return p.status(ctx, sh, sh.Call(ctx, append([]string{name}, p.args[1:]...)))
}
