package box

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"minikcm.dev/minikcm/internal/span"
	"minikcm.dev/minikcm/kubeletsim/internal/applets"
	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// ErrAssumed is given to Main.Ended when the command has passed and has run a program of which nothing is
// known: whether it has ended is an assumption.
var ErrAssumed = errors.New("the end of the command is assumed")

// maxShown bounds the assumptions that a command shows.
const maxShown = 100

// Assume implements shell.Container. With Machine.ShowAssumed, the standard error gets each assumption once.
func (s *session) Assume(what string) {
	if s.machine.Assumed != nil {
		s.machine.Assumed(what)
	}
	if !s.tty && !s.machine.ShowAssumed {
		return
	}
	s.mu.Lock()
	shown := slices.Contains(s.assumed, what) || len(s.assumed) >= maxShown
	if !shown {
		s.assumed = append(s.assumed, what)
	}
	s.mu.Unlock()
	if !shown {
		_, _ = fmt.Fprintf(s.err, "minikcm: assumed that %s\n", what)
	}
}

// Changing implements shell.Container.
func (s *session) Changing() bool {
	return s.machine.Unknown && (s.machine.Ran == nil || s.machine.Ran.Load())
}

// Partial implements shell.Container.
func (s *session) Partial(dir string) bool { return s.machine.Files.Partial(dir) }

// guess records one program's use of unknown text.
type guess struct {
	// made means that an argument, an input or the task of the program is unknown.
	made bool
	// hides means that the output is computed, so that it is unknown, too. shown means that unknown text has
	// been written in its place.
	hides, shown bool
}

// computes reports whether the output of a program is computed from its input and arguments. The others pass
// on what they get, or write nothing.
func computes(name string) bool {
	switch name {
	case "awk", "base64", "cksum", "cmp", "comm", "cut", "date", "df", "diff", "du", "egrep", "expr", "fgrep", "find", "fold", "gawk", "getent", "grep", "hd", "hexdump", "id", "join", "ls", "mawk", "md5sum", "od",
		"readlink", "realpath", "seq", "sha1sum", "sha256sum", "sha512sum", "shuf", "stat", "sysctl", "uname", "wc", "which":
		return true
	}
	return false
}

// runsOthers reports whether a program executes its arguments, whose result is its own.
func runsOthers(name string) bool {
	switch name {
	case "[", "ash", "bash", "busybox", "dash", "echo", "env", "flock", "nice", "nohup", "printf", "setsid", "sh", "test", "time", "timeout", "xargs":
		return true
	}
	return false
}

// execute runs a program, and returns its status: unknown if it depends on what is unknown.
func (p *proc) execute(ctx context.Context, run program) int {
	name := path.Base(p.args[0])
	if runsOthers(name) {
		code := run(ctx, p)
		if p.guess.made && code != 0 && ctx.Err() == nil {
			return unknown.Succeeded
		}
		return code
	}
	p.guess.hides = computes(name)
	for _, arg := range p.args[1:] {
		p.guess.made = p.guess.made || unknown.In(arg)
	}
	code := run(ctx, p)
	if !p.guess.made || ctx.Err() != nil {
		return code
	}
	if p.guess.hides && !p.guess.shown {
		_, _ = p.out.Write([]byte(unknown.Line))
	}
	if code != 0 || p.guess.hides {
		return unknown.Succeeded
	}
	return 0
}

// guessWriter is the output of a program: unknown from the time on at which the program has met unknown text.
type guessWriter struct {
	guess *guess
	w     io.Writer
}

func (g guessWriter) Write(data []byte) (int, error) {
	if !g.guess.made || !g.guess.hides {
		return g.w.Write(data)
	}
	if g.guess.shown {
		return len(data), nil
	}
	g.guess.shown = true
	_, err := g.w.Write([]byte(unknown.Line))
	return len(data), err
}

// guessReader notices unknown text in a program's input. It passes on the lines before that first: what a program writes of these
// is known.
type guessReader struct {
	guess *guess
	r     io.Reader
	// last are the last bytes read, with which unknown text may begin; held are buffered bytes to pass on.
	last, held []byte
}

func (g *guessReader) Read(data []byte) (int, error) {
	if len(g.held) > 0 {
		n := copy(data, g.held)
		g.held = g.held[n:]
		g.guess.made = true
		return n, nil
	}
	n, err := g.r.Read(data)
	if g.guess.made || n <= 0 {
		return n, err
	}
	seen := data[:n]
	if len(g.last) > 0 {
		seen = append(g.last, seen...)
	}
	if at := bytes.Index(seen, []byte(unknown.Text)) - (len(seen) - n); at >= 0 || bytes.Contains(seen, []byte(unknown.Text)) {
		known := bytes.LastIndexByte(data[:max(at, 0)], '\n') + 1
		if known > 0 && err == nil {
			g.held = append([]byte(nil), data[known:n]...)
			return known, nil
		}
		g.guess.made = true
	}
	g.last = append([]byte(nil), seen[max(0, len(seen)-len(unknown.Text)+1):]...)
	return n, err
}

// unsure makes the result of the program unknown because of a file that may be there.
func (p *proc) unsure(name string) int {
	p.guessThat(unknown.Show(p.path(name)) + " exists")
	return 1
}

// guessThat makes the result of the program unknown because of an assumption.
func (p *proc) guessThat(what string) {
	p.guess.made = true
	p.Assume(what)
}

// unsupported is for an option that the program does not have. Another implementation may.
func (p *proc) unsupported(option string) int {
	if p.machine.Unknown && !isMisspelt(p.args[0], option) {
		p.guessThat(path.Base(p.args[0]) + " " + unknown.Show(option) + " succeeds")
		return 1
	}
	return p.fail("unrecognized option: %s", strings.TrimLeft(option, "-"))
}

// maxDrained bounds the bytes that are read of the input of an unknown program.
const maxDrained = 1 << 20

// foreign is a program that the image may have. It is assumed to succeed, at once unless it is a background
// job of a container that runs until it is stopped.
func foreign(ctx context.Context, p *proc) int {
	if inner := applets.Wrapped(p.args); inner != nil {
		p.Assume(path.Base(p.args[0]) + " runs its arguments")
		return p.become(ctx, p.inner(ctx, inner, p.env))
	}
	return p.assumed(ctx, success(p.args[0]))
}

// assumed is a program of which is assumed what is said of it.
func (p *proc) assumed(ctx context.Context, what string) int {
	p.foreign.Store(true)
	if p.machine.Ran != nil {
		p.machine.Ran.Store(true)
	}
	p.Assume(what)
	p.obscure()
	if p.machine.Lasts && inBackground(ctx) {
		_ = p.sleep(ctx, span.Forever)
		return exitInterrupted
	}
	if p.in != nil && p.in != p.token {
		_, _ = io.CopyN(io.Discard, p.stdin(ctx), maxDrained)
	}
	_, _ = p.out.Write([]byte(unknown.Line))
	return unknown.Succeeded
}

// success is the assumption that a program succeeds. Of a program whose purpose is the network, it says that
// nothing was reached.
func success(name string) string {
	what := unknown.Show(name) + " succeeds"
	if applets.Networked(path.Base(name)) {
		what += ", although it has reached nothing: its network is not simulated"
	}
	return what
}

// obscure makes unknown what the program may have written: beneath its working directory, and beneath the
// paths among its arguments.
func (p *proc) obscure() {
	files := p.machine.Files
	if p.dir != "/" {
		_ = files.Obscure(p.dir) // what cannot be written stays as it is
	}
	for _, arg := range p.args[1:] {
		if i := strings.Index(arg, "/"); i > 0 && (strings.HasPrefix(arg, "-") || strings.Contains(arg[:i], "=")) && !strings.Contains(arg, "://") {
			arg = arg[i:]
		}
		if strings.HasPrefix(arg, "/") && arg != "/" {
			_ = files.Obscure(path.Clean(arg)) // as above
		}
	}
}

// backgroundKey marks the context of background jobs.
type backgroundKey struct{}

func inBackground(ctx context.Context) bool { return ctx.Value(backgroundKey{}) != nil }
