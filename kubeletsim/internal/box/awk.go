package box

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"minikcm.dev/minikcm/kubeletsim/internal/awk"
	"minikcm.dev/minikcm/kubeletsim/internal/shell"
)

// runAwk runs awk, whose program is its first argument or in the files of -f.
func runAwk(ctx context.Context, p *proc) int {
	config := awk.Config{Host: newAwkHost(ctx, p), Environ: p.env, Seed: p.seed, Out: p.out}
	args, source, given := p.args[1:], "", false
	for ; len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-'; args = args[1:] {
		if args[0] == "--" {
			args = args[1:]
			break
		}
		option, text := args[0][:2], args[0][2:]
		if strings.Contains("-F-v-f", option) && text == "" && len(args) > 1 {
			args = args[1:]
			text = args[0]
		}
		name, value, assigns := strings.Cut(text, "=")
		switch {
		case option == "-F":
			if text == "t" {
				text = `\t`
			}
			config.Vars = append(config.Vars, [2]string{"FS", text})
		case option == "-v" && assigns:
			config.Vars = append(config.Vars, [2]string{name, value})
		case option == "-f":
			data, err := p.readFile(ctx, text)
			if err != nil {
				p.failPath(text, err)
				return 2
			}
			source, given = source+string(data)+"\n", true
		default:
			p.unsupported(args[0])
			return 2
		}
	}
	if !given {
		if len(args) == 0 {
			p.fail("a program is needed")
			return 2
		}
		source, args = args[0], args[1:]
	}
	config.Args = append([]string{"awk"}, args...)
	if err := p.keep(lineBytes * len(source)); err != nil {
		return exitKilled
	}
	program, err := awk.Parse(source)
	code := 0
	if err == nil {
		code, err = awk.Run(program, config)
	}
	return p.awkEnded(ctx, code, err)
}

// awkEnded returns the exit code for the end of awk.
func (p *proc) awkEnded(ctx context.Context, code int, err error) int {
	var unsupported *awk.UnsupportedError
	switch {
	case err == nil:
		return code
	case errors.Is(err, errNoWriter), errors.Is(err, shell.ErrOutOfMemory), ctx.Err() != nil:
	case errors.As(err, &unsupported):
		p.unsupported(unsupported.What)
	default:
		p.fail("%s", err)
	}
	return 2
}

// awkHost implements awk.Host with the files and the budgets of a process.
type awkHost struct {
	*proc
	step   func() error
	read   func(name string) (io.Reader, error)
	writes func(name string, flag int) (io.Writer, error)
}

func newAwkHost(ctx context.Context, p *proc) *awkHost {
	turn := shell.TurnOf(ctx)
	return &awkHost{
		proc: p, step: func() error { return turn.Step(ctx) },
		read:   func(name string) (io.Reader, error) { return p.open(ctx, name) },
		writes: func(name string, flag int) (io.Writer, error) { return p.create(ctx, name, flag) },
	}
}

// Reserve implements awk.Host.
func (h *awkHost) Reserve(n int) error { return h.keep(n) }

// Release implements awk.Host.
func (h *awkHost) Release(n int) { h.drop(n) }

// Step implements awk.Host.
func (h *awkHost) Step() error {
	return h.step()
}

// Open implements awk.Host.
func (h *awkHost) Open(name string) (io.Reader, error) { return h.read(name) }

// Failed implements awk.Host.
func (h *awkHost) Failed(name string, err error) { h.failPath(name, err) }

// Create implements awk.Host.
func (h *awkHost) Create(name string, appends bool) (io.Writer, error) {
	switch name {
	case "/dev/stdout", "-":
		return h.out, nil
	case "/dev/stderr":
		return h.err, nil
	}
	flag := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if appends {
		flag = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	return h.writes(name, flag)
}
