package box

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"unicode"

	"minikcm.dev/minikcm/kubeletsim/internal/shell"
	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// maxSedSpace bounds the pattern space, which regular expressions search without a pause, in bytes.
const maxSedSpace = 256 << 10

// editing is one run of sed over some inputs.
type editing struct {
	*proc
	// openInput opens an input, step takes a step of the program's turn, and ended returns the error with which
	// the command ends.
	openInput   func(name string) (io.Reader, error)
	step, ended func() error
	script      []*sedCommand
	quiet       bool
	input       *bufio.Reader
	rest        []string // the files that follow
	out         io.Writer
	space, hold string
	line        int
	next        *string // the line that was read ahead
	newline     bool    // the last line that was read had an end
	appended    string
	replaced    bool
	steps       int
	// quit is whether the script has ended, with which code.
	quit bool
	code int
	open map[string]io.Writer
	// branchTo is the label of the branch under way.
	branchTo string
}

// How a command ends the cycle.
const (
	sedGoesOn = iota
	sedNextCycle
	sedDelete
	sedRestart
	sedBranch
)

var (
	errSedLong  = errors.New("the line is too long")
	errSedLabel = errors.New("a label is missing")
)

func sed(ctx context.Context, p *proc) int {
	args, suffix := withoutSuffix(p.args[1:])
	var texts []string
	var plain []string
	for i := 0; i < len(args); i++ { // -e may be repeated
		switch arg := args[i]; {
		case (arg == "-e" || arg == "--expression") && i+1 < len(args):
			i++
			texts = append(texts, args[i])
		case strings.HasPrefix(arg, "-e") && len(arg) > 2:
			texts = append(texts, arg[2:])
		case len(arg) > 2 && arg[0] == '-' && arg[1] != '-' && strings.HasSuffix(arg, "e") && i+1 < len(args):
			plain = append(plain, strings.TrimSuffix(arg, "e"))
			i++
			texts = append(texts, args[i])
		case strings.HasPrefix(arg, "--expression="):
			texts = append(texts, arg[len("--expression="):])
		default:
			plain = append(plain, arg)
		}
	}
	flags, names, other := options(plain, "nErisuz", "f", longOptions("sed"))
	if other != "" {
		return p.unsupported(other)
	}
	if has(flags, 'z') {
		return p.unsupported("-z")
	}
	if has(flags, 'f') {
		data, err := p.readFile(ctx, flags['f'])
		if err != nil {
			return p.failPath(flags['f'], err)
		}
		texts = append(texts, string(data))
	}
	if len(texts) == 0 {
		if len(names) == 0 {
			return p.fail("no script")
		}
		texts, names = names[:1], names[1:]
	}
	text := strings.Join(texts, "\n")
	if p.keep(100*len(text)) != nil {
		return 1
	}
	parser := &sedParser{text: text, extended: has(flags, 'E') || has(flags, 'r')}
	script, err := parser.commands()
	if err != nil {
		return p.fail("%v", err)
	}
	if parser.unknown {
		p.guess.hides = true
	}
	e := &editing{
		proc: p, openInput: func(name string) (io.Reader, error) { return p.open(ctx, name) },
		step: func() error { return shell.TurnOf(ctx).Step(ctx) }, ended: ctx.Err, script: script, quiet: has(flags, 'n') || strings.HasPrefix(text, "#n\n"), out: p.out, open: map[string]io.Writer{},
	}
	if has(flags, 'i') {
		return e.inPlace(names, suffix)
	}
	if len(names) == 0 {
		names = []string{"-"}
	}
	e.rest = names
	return e.report(e.run())
}

func (e *editing) report(err error) int {
	switch {
	case err == nil:
		return e.code
	case errors.Is(err, errNoWriter), errors.Is(err, shell.ErrOutOfMemory), e.ended() != nil:
		return 1
	}
	return e.fail("%s", reason(err))
}

// read returns the next line of the inputs without its end; nil after the last.
func (e *editing) read() (*string, error) {
	for {
		if e.input == nil {
			if len(e.rest) == 0 {
				return nil, nil
			}
			name := e.rest[0]
			e.rest = e.rest[1:]
			f, err := e.openInput(name)
			if err != nil {
				e.code = e.failPath(name, err)
				continue
			}
			e.input = bufio.NewReader(f)
		}
		line, kept, err := e.proc.line(e.input)
		e.drop(kept)
		if err == io.EOF {
			e.input = nil
			if line == "" {
				continue
			}
		} else if err != nil {
			return nil, err
		}
		if len(line) > maxSedSpace {
			return nil, errSedLong
		}
		return &line, nil
	}
}

// advance makes the next line the current one; false at the end.
func (e *editing) advance() (line string, ok bool, err error) {
	if e.next == nil && e.line == 0 {
		if e.next, err = e.read(); err != nil {
			return "", false, err
		}
	}
	if e.next == nil {
		return "", false, nil
	}
	line, e.newline = strings.CutSuffix(*e.next, "\n")
	e.line++
	e.next, err = e.read()
	return line, true, err
}

func (e *editing) run() error {
	for !e.quit {
		line, ok, err := e.advance()
		if err != nil || !ok {
			return err
		}
		e.space = line
		if err := e.cycle(); err != nil {
			return err
		}
	}
	return nil
}

// cycle executes the script for the pattern space. Nothing is known of what becomes of an unknown line.
func (e *editing) cycle() error {
	for {
		if unknown.In(e.space) {
			e.space = unknown.Text
			return e.emit(e.space, true)
		}
		e.replaced = false
		how, err := e.execute(e.script)
		if err != nil {
			return err
		}
		if how == sedRestart {
			continue
		}
		if how == sedBranch {
			return errSedLabel
		}
		if how != sedDelete && !e.quiet {
			if err := e.emit(e.space, e.newline || e.next != nil); err != nil {
				return err
			}
		}
		text := e.appended
		e.appended = ""
		_, err = io.WriteString(e.out, text)
		return err
	}
}

func (e *editing) emit(text string, newline bool) error {
	if newline {
		text += "\n"
	}
	_, err := io.WriteString(e.out, text)
	return err
}

// selected reports whether a command applies to the current line.
func (e *editing) selected(c *sedCommand) bool {
	return e.addressed(c) != c.not
}

func (e *editing) addressed(c *sedCommand) bool {
	switch {
	case c.from == nil:
		return true
	case c.to == nil:
		return e.at(c.from)
	case c.active:
		switch {
		case c.until > 0:
			c.active = e.line < c.until
			return e.line <= c.until
		case e.at(c.to):
			c.active = false
		}
		return true
	case !e.at(c.from) && !(c.from.line == 0 && c.from.match == nil && !c.from.last && c.from.step == 0 && e.line == 1):
		return false
	}
	c.until = 0
	switch {
	case c.to.plus:
		c.until = e.line + c.to.line
	case c.to.line > 0:
		c.until = c.to.line
	}
	c.active = c.until > e.line || c.until == 0 && !(c.to.last && e.next == nil)
	return true
}

func (e *editing) at(a *sedAddress) bool {
	switch {
	case a.match != nil:
		return a.match.MatchString(e.space)
	case a.last:
		return e.next == nil
	case a.step > 0:
		return e.line >= a.line && (e.line-a.line)%a.step == 0
	}
	return e.line == a.line
}

// execute executes commands. Branches go to labels of the outermost list, or of the own one.
func (e *editing) execute(list []*sedCommand) (int, error) {
	for i := 0; i < len(list); i++ {
		if e.steps++; e.steps%64 == 0 {
			if err := e.step(); err != nil {
				return 0, err
			}
		}
		c := list[i]
		if !e.selected(c) {
			continue
		}
		if len(e.space) > maxSedSpace || len(e.hold) > maxSedSpace {
			return 0, errSedLong
		}
		how, err := e.one(c)
		if err != nil {
			return 0, err
		}
		if how == sedBranch {
			if c.verb != '{' {
				e.branchTo = c.label
			}
			if e.branchTo == "" {
				return sedNextCycle, nil
			}
			if i = labelIn(list, e.branchTo); i < 0 {
				return sedBranch, nil
			}
			continue
		}
		if how != sedGoesOn {
			return how, nil
		}
	}
	return sedGoesOn, nil
}

func labelIn(list []*sedCommand, label string) int {
	for i, c := range list {
		if c.verb == ':' && c.label == label {
			return i
		}
	}
	return -1
}

// one executes one command.
func (e *editing) one(c *sedCommand) (int, error) {
	switch c.verb {
	case '{':
		return e.execute(c.block)
	case 's':
		return sedGoesOn, e.substitute(c)
	case 'y':
		e.space = strings.Map(func(r rune) rune {
			if to, ok := c.characters[r]; ok {
				return to
			}
			return r
		}, e.space)
	case 'p':
		return sedGoesOn, e.emit(e.space, true)
	case 'P':
		first, _, _ := strings.Cut(e.space, "\n")
		return sedGoesOn, e.emit(first, true)
	case '=':
		e.proc.print("%d\n", e.line)
	case 'd':
		return sedDelete, nil
	case 'D':
		_, rest, more := strings.Cut(e.space, "\n")
		if !more {
			return sedDelete, nil
		}
		e.space = rest
		return sedRestart, nil
	case 'a':
		e.appended += c.text
	case 'i':
		_, err := io.WriteString(e.out, c.text)
		return sedGoesOn, err
	case 'c':
		if c.to == nil || !c.active || c.not {
			_, err := io.WriteString(e.out, c.text)
			return sedDelete, err
		}
		return sedDelete, nil
	case 'b':
		return sedBranch, nil
	case 't':
		if e.replaced {
			e.replaced = false
			return sedBranch, nil
		}
	case 'T':
		if !e.replaced {
			return sedBranch, nil
		}
		e.replaced = false
	case 'g':
		e.space = e.hold
	case 'G':
		e.space += "\n" + e.hold
	case 'h':
		e.hold = e.space
	case 'H':
		e.hold += "\n" + e.space
	case 'x':
		e.space, e.hold = e.hold, e.space
	case 'z':
		e.space = ""
	default:
		return e.reading(c)
	}
	return sedGoesOn, nil
}

// reading executes the commands that read, write and end.
func (e *editing) reading(c *sedCommand) (int, error) {
	switch c.verb {
	case 'n', 'N':
		if e.next == nil {
			e.quit = true
			return sedNextCycle, nil
		}
		if c.verb == 'n' && !e.quiet {
			if err := e.emit(e.space, true); err != nil {
				return 0, err
			}
		}
		line, _, err := e.advance()
		if c.verb == 'N' {
			line = e.space + "\n" + line
		}
		e.space = line
		return sedGoesOn, err
	case 'q':
		e.quit, e.code = true, c.number
		return sedNextCycle, nil
	case 'Q':
		e.quit, e.code = true, c.number
		return sedDelete, nil
	case 'r':
		if data, err := e.machine.Files.ReadFile(e.path(c.writesTo)); err == nil {
			e.appended += string(data)
		}
	case 'w':
		return sedGoesOn, e.writeTo(c.writesTo, e.space)
	}
	return sedGoesOn, nil
}

func (e *editing) writeTo(name, text string) error {
	if e.open[name] == nil {
		f, err := e.machine.Files.OpenFile(e.path(name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
		if err != nil {
			return err
		}
		e.open[name] = f
	}
	_, err := io.WriteString(e.open[name], text+"\n")
	return err
}

// substitute executes s.
func (e *editing) substitute(c *sedCommand) error {
	limit := -1
	if !c.all {
		limit = max(c.nth, 1)
	}
	matches := c.match.FindAllStringSubmatchIndex(e.space, limit)
	if len(matches) == 0 || len(matches) < c.nth {
		return nil
	}
	var b strings.Builder
	at := 0
	for i, bounds := range matches {
		if i+1 < c.nth {
			continue
		}
		b.WriteString(e.space[at:bounds[0]])
		expandSed(&b, c.with, e.space, bounds)
		at = bounds[1]
		if b.Len() > maxSedSpace {
			return errSedLong
		}
	}
	b.WriteString(e.space[at:])
	e.space, e.replaced = b.String(), true
	if c.prints {
		if err := e.emit(e.space, true); err != nil {
			return err
		}
	}
	if c.writesTo != "" {
		return e.writeTo(c.writesTo, e.space)
	}
	return nil
}

// expandSed writes a replacement with its groups, escapes and changes of case.
func expandSed(b *strings.Builder, with, text string, bounds []int) {
	mode, once := byte('E'), byte(0)
	write := func(part string) {
		switch mode {
		case 'U':
			part = strings.ToUpper(part)
		case 'L':
			part = strings.ToLower(part)
		}
		if r, size := firstOfText(part); once != 0 && size > 0 {
			if once == 'u' {
				r = unicode.ToUpper(r)
			} else {
				r = unicode.ToLower(r)
			}
			part, once = string(r)+part[size:], 0
		}
		b.WriteString(part)
	}
	group := func(n int) string {
		if 2*n+1 < len(bounds) && bounds[2*n] >= 0 {
			return text[bounds[2*n]:bounds[2*n+1]]
		}
		return ""
	}
	for i := 0; i < len(with); i++ {
		c := with[i]
		switch {
		case c == '&':
			write(group(0))
		case c == '\\' && i+1 < len(with):
			i++
			switch c = with[i]; {
			case c >= '0' && c <= '9':
				write(group(int(c - '0')))
			case c == 'n':
				b.WriteByte('\n')
			case c == 't':
				b.WriteByte('\t')
			case c == 'r':
				b.WriteByte('\r')
			case c == 'U' || c == 'L' || c == 'E':
				mode = c
			case c == 'u' || c == 'l':
				once = c
			default:
				write(string(c))
			}
		default:
			end := i + 1
			for end < len(with) && with[end] != '&' && with[end] != '\\' {
				end++
			}
			write(with[i:end])
			i = end - 1
		}
	}
}

func firstOfText(text string) (rune, int) {
	for i, r := range text {
		return r, i + len(string(r))
	}
	return 0, 0
}
