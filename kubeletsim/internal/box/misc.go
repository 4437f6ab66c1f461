package box

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path"
	"strconv"
	"strings"

	"minikcm.dev/minikcm/kubeletsim/internal/applets"
	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// runArguments runs the command among its arguments: nohup, nice, setsid.
func runArguments(ctx context.Context, p *proc) int {
	args := p.args[1:]
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		flag := args[0]
		if args = args[1:]; flag == "--" {
			break
		}
		if flag == "-n" && len(args) > 0 {
			args = args[1:]
		}
	}
	if len(args) == 0 {
		return p.fail("a command is needed")
	}
	return p.become(ctx, p.inner(ctx, args, p.env))
}

// flock runs a command; there is no other that could hold the lock.
func flock(ctx context.Context, p *proc) int {
	args := p.args[1:]
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		flag := args[0]
		if args = args[1:]; (flag == "-w" || flag == "-E" || flag == "--timeout") && len(args) > 0 {
			args = args[1:]
		}
	}
	if len(args) == 0 {
		return p.fail("a file is needed")
	}
	file, args := args[0], args[1:]
	switch {
	case len(args) == 0: // a descriptor
		return 0
	case len(args) == 2 && args[0] == "-c":
		args = []string{"sh", "-c", args[1]}
	}
	f, err := p.machine.Files.OpenFile(p.path(file), os.O_RDONLY|os.O_CREATE, 0o644)
	if err != nil {
		return p.failPath(file, err)
	}
	_ = f.Close()
	return p.become(ctx, p.inner(ctx, args, p.env))
}

// logger writes to a log that nothing reads.
func logger(context.Context, *proc) int { return 0 }

// pgrep lists processes by a pattern, and pidof by a name.
func pgrep(_ context.Context, p *proc) int {
	flags, names, ok := p.parse("flxnoacq", "uPstog")
	if !ok {
		return 1
	}
	byName := path.Base(p.args[0]) == "pidof"
	var found []string
	for _, process := range p.machine.Processes {
		command, _, _ := strings.Cut(process.Command, " ")
		for _, name := range names {
			matched := path.Base(command) == path.Base(name)
			if !byName {
				shown := path.Base(command)
				if has(flags, 'f') {
					shown = process.Command
				}
				match, err := compilePattern(name, map[byte]string{}, true)
				if err != nil {
					return p.fail("bad pattern '%s'", name)
				}
				matched = match.MatchString(shown)
			}
			if matched {
				found = append(found, strconv.Itoa(process.PID))
			}
		}
	}
	switch {
	case len(found) == 0 && p.machine.Unknown:
		p.guess.made, p.guess.hides = true, true
		p.Assume("a process " + unknown.Show(strings.Join(names, " ")) + " runs")
		return 1
	case len(found) == 0:
		return 1
	case byName:
		p.print("%s\n", strings.Join(found, " "))
	default:
		p.printLines(found)
	}
	return 0
}

func truncate(_ context.Context, p *proc) int {
	flags, names, ok := p.parse("c", "s")
	if !ok {
		return 1
	}
	size, ok := applets.ParseSize(flags['s'])
	if !ok {
		return p.fail("invalid number '%s'", flags['s'])
	}
	code := 0
	for _, name := range names {
		data, err := p.machine.Files.ReadFile(p.path(name))
		if err != nil && !os.IsNotExist(err) {
			code = p.failPath(name, err)
			continue
		}
		if err := p.keep(int(size)); err != nil {
			return 1
		}
		data = append(data[:min(int64(len(data)), size)], make([]byte, max(0, size-int64(len(data))))...)
		if err := p.writeFile(p.path(name), bytes.NewReader(data), 0o644); err != nil {
			code = p.failPath(name, err)
		}
	}
	return code
}

// dd copies blocks.
func dd(ctx context.Context, p *proc) int {
	values := map[string]string{"bs": "512", "if": "-", "of": ""}
	for _, arg := range p.args[1:] {
		name, value, ok := strings.Cut(arg, "=")
		switch name {
		case "if", "of", "bs", "ibs", "obs", "count", "skip", "conv", "status", "iflag", "oflag", "seek":
			values[name] = value
		default:
			ok = false
		}
		if !ok {
			return p.unsupported(arg)
		}
	}
	if values["seek"] != "" {
		return p.unsupported("seek")
	}
	number := func(name string, otherwise int64) int64 {
		n, ok := applets.ParseSize(values[name])
		if !ok {
			return otherwise
		}
		return n
	}
	in, err := p.open(ctx, values["if"])
	if err != nil {
		return p.failPath(values["if"], err)
	}
	block := number("bs", 512)
	if skip := number("skip", 0); skip > 0 {
		_, _ = io.CopyN(io.Discard, in, skip*block)
	}
	if count := number("count", -1); count >= 0 {
		in = io.LimitReader(in, count*block)
	}
	out := io.Writer(p.out)
	if values["of"] != "" {
		f, err := p.create(ctx, values["of"], os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
		if err != nil {
			return p.failPath(values["of"], err)
		}
		out = f
	}
	n, err := io.Copy(out, in)
	if err != nil {
		return p.fail("error writing: %s", reason(err))
	}
	if values["status"] != "none" {
		_, _ = io.WriteString(p.err, strconv.FormatInt(n/block, 10)+"+0 records in\n"+strconv.FormatInt(n/block, 10)+"+0 records out\n")
	}
	return 0
}

// errDiffer ends a comparison.
var errDiffer = errors.New("the files differ")

// compared compares two files byte by byte.
func (p *proc) compared(ctx context.Context, names []string) error {
	var in [2]*bufio.Reader
	for i, name := range names {
		f, err := p.open(ctx, name)
		if err != nil {
			return err
		}
		in[i] = bufio.NewReader(f)
	}
	for {
		a, errA := in[0].ReadByte()
		b, errB := in[1].ReadByte()
		switch {
		case errA == io.EOF && errB == io.EOF:
			return nil
		case errA == io.EOF || errB == io.EOF || errA == nil && errB == nil && a != b:
			return errDiffer
		case errA != nil || errB != nil:
			return errors.Join(errA, errB)
		}
	}
}

func compareFiles(ctx context.Context, p *proc) int { return p.compare(ctx, "%s %s differ\n", "sl") }

func (p *proc) compare(ctx context.Context, message, known string) int {
	flags, names, ok := p.parse(known, "")
	if !ok {
		return 2
	}
	if len(names) != 2 {
		p.fail("two files are needed")
		return 2
	}
	err := p.compared(ctx, names)
	switch {
	case err == nil:
		return 0
	case !errors.Is(err, errDiffer):
		p.failPath(names[0], err)
		return 2
	case !has(flags, 's'):
		p.print(message, names[0], names[1])
	}
	return 1
}

// diff says whether files differ: with -q or -s exactly, otherwise the lines from the first to the last that
// differ.
func diff(ctx context.Context, p *proc) int {
	flags, names, ok := p.parse("qsuawbBNr", "U")
	if !ok {
		return 2
	}
	if has(flags, 'q') {
		p.args = append([]string{p.args[0]}, names...)
		return p.compare(ctx, "Files %s and %s differ\n", "")
	}
	if len(names) != 2 {
		p.fail("two files are needed")
		return 2
	}
	a, codeA := p.allLines(ctx, names[:1])
	b, codeB := p.allLines(ctx, names[1:])
	if codeA != 0 || codeB != 0 {
		return 2
	}
	from := 0
	for from < len(a) && from < len(b) && a[from] == b[from] {
		from++
	}
	endA, endB := len(a), len(b)
	for endA > from && endB > from && a[endA-1] == b[endB-1] {
		endA, endB = endA-1, endB-1
	}
	if endA == from && endB == from {
		return 0
	}
	for _, line := range a[from:endA] {
		p.print("< %s\n", line)
	}
	if endA > from && endB > from {
		p.print("---\n")
	}
	for _, line := range b[from:endB] {
		p.print("> %s\n", line)
	}
	return 1
}

// paste joins the lines of several files side by side, or with -s the lines of each file.
func paste(ctx context.Context, p *proc) int {
	flags, names, ok := p.parse("s", "d")
	if !ok {
		return 1
	}
	separator := "\t"
	if has(flags, 'd') {
		separator = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\0`, "").Replace(flags['d'])
	}
	if len(names) == 0 {
		names = []string{"-"}
	}
	var columns [][]string
	rows := 0
	for _, name := range names {
		lines, code := p.allLines(ctx, []string{name})
		if code != 0 {
			return code
		}
		if has(flags, 's') {
			p.print("%s\n", strings.Join(lines, separator))
			continue
		}
		columns = append(columns, lines)
		rows = max(rows, len(lines))
	}
	for row := range rows {
		var fields []string
		for _, lines := range columns {
			field := ""
			if row < len(lines) {
				field = lines[row]
			}
			fields = append(fields, field)
		}
		p.print("%s\n", strings.Join(fields, separator))
	}
	return 0
}
