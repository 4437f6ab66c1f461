package box

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"minikcm.dev/minikcm/kubeletsim/internal/applets"
	"minikcm.dev/minikcm/kubeletsim/internal/shell"
)

func cat(ctx context.Context, p *proc) int {
	flags, names, ok := p.parse("nuevtAbs", "")
	if !ok {
		return 1
	}
	number := 0
	return p.inputs(ctx, names, func(_ string, r io.Reader) error {
		if !has(flags, 'n') {
			_, err := io.Copy(p.out, r)
			return err
		}
		return p.eachLine(r, func(line string) error {
			number++
			p.print("%6d\t%s", number, line)
			return nil
		})
	})
}

// count reads the number of lines or bytes that head and tail are asked for.
func (p *proc) count() (n int, bytesWanted, fromStart bool, names []string, ok bool) {
	args := slices.Clone(p.args[1:])
	if len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && args[0][1] >= '0' && args[0][1] <= '9' {
		args[0] = "-n" + args[0][1:]
	}
	flags, names, other := options(args, "fFqv_", "ncs", longOptions(path.Base(p.args[0])))
	if other != "" {
		p.unsupported(other)
		return 0, false, false, nil, false
	}
	text := "10"
	if has(flags, 'n') {
		text = flags['n']
	}
	if has(flags, 'c') {
		text, bytesWanted = flags['c'], true
	}
	fromStart = strings.HasPrefix(text, "+")
	size, valid := applets.ParseSize(strings.TrimLeft(text, "+-"))
	n = int(size)
	if strings.HasPrefix(text, "-") && path.Base(p.args[0]) == "head" {
		n = -n
	}
	if !valid {
		p.fail("invalid number '%s'", text)
		return 0, false, false, nil, false
	}
	return n, bytesWanted, fromStart, names, true
}

func head(ctx context.Context, p *proc) int {
	n, inBytes, _, names, ok := p.count()
	if !ok {
		return 1
	}
	return p.inputs(ctx, names, func(name string, r io.Reader) error {
		if len(names) > 1 {
			p.print("==> %s <==\n", name)
		}
		switch {
		case n < 0 && inBytes:
			return p.allBut(r, -n)
		case n < 0:
			return p.allLinesBut(r, -n)
		case inBytes:
			_, err := io.Copy(p.out, io.LimitReader(r, int64(n)))
			return err
		}
		left := n
		if left == 0 {
			return nil
		}
		err := p.eachLine(r, func(line string) error {
			if _, err := io.WriteString(p.out, line); err != nil {
				return err
			}
			if left--; left == 0 {
				return io.EOF
			}
			return nil
		})
		if err == io.EOF {
			return nil
		}
		return err
	})
}

func tail(ctx context.Context, p *proc) int {
	n, inBytes, fromStart, names, ok := p.count()
	if !ok {
		return 1
	}
	follow := p.follows(names)
	code := p.inputs(ctx, names, func(name string, r io.Reader) error {
		if len(names) > 1 {
			p.print("==> %s <==\n", name)
		}
		switch {
		case fromStart && inBytes:
			if _, err := io.CopyN(io.Discard, r, int64(max(n-1, 0))); err != nil {
				return nil // it is shorter
			}
			_, err := io.Copy(p.out, r)
			return err
		case fromStart:
			skip := n - 1
			return p.eachLine(r, func(line string) error {
				if skip--; skip >= 0 {
					return nil
				}
				_, err := io.WriteString(p.out, line)
				return err
			})
		case inBytes:
			return p.lastBytes(r, n)
		}
		return p.lastLines(r, n)
	})
	if follow == nil {
		return code
	}
	return follow(ctx)
}

func wc(ctx context.Context, p *proc) int {
	flags, names, ok := p.parse("lwcm", "")
	if !ok {
		return 1
	}
	all := len(flags) == 0
	show := func(lines, words, size int, name string) {
		var out []string
		for _, column := range []struct {
			flag byte
			n    int
		}{{'l', lines}, {'w', words}, {'c', size}} {
			if all || has(flags, column.flag) || column.flag == 'c' && has(flags, 'm') {
				out = append(out, strconv.Itoa(column.n))
			}
		}
		if name != "-" {
			out = append(out, name)
		}
		p.print("%s\n", strings.Join(out, " "))
	}
	var sumLines, sumWords, sumSize int
	code := p.inputs(ctx, names, func(name string, r io.Reader) error {
		lines, words, size, err := countText(r)
		if err != nil {
			return err
		}
		show(lines, words, size, name)
		sumLines, sumWords, sumSize = sumLines+lines, sumWords+words, sumSize+size
		return nil
	})
	if len(names) > 1 {
		show(sumLines, sumWords, sumSize, "total")
	}
	return code
}

// countText counts the lines, words and bytes of an input.
func countText(r io.Reader) (lines, words, size int, err error) {
	buf := make([]byte, 32<<10)
	within := false
	for {
		n, err := r.Read(buf)
		size += n
		for _, c := range buf[:n] {
			if c == '\n' {
				lines++
			}
			space := c == ' ' || c >= '\t' && c <= '\r'
			if !space && !within {
				words++
			}
			within = !space
		}
		if err == io.EOF {
			return lines, words, size, nil
		}
		if err != nil {
			return 0, 0, 0, err
		}
	}
}

func sortLines(ctx context.Context, p *proc) int {
	flags, names, ok := p.parse("rnufVhgsbdiMz", "ktoSTm")
	if !ok {
		return 1
	}
	if has(flags, 'z') {
		return p.unsupported("-z")
	}
	lines, code := p.allLines(ctx, names)
	for _, flag := range "nrVhgfb" { // a key may have flags, as in -k2,2n
		if strings.ContainsRune(flags['k'], flag) {
			flags[byte(flag)] = "set"
		}
	}
	key := sortKey(flags)
	step := p.stepper(ctx)
	compare := func(a, b string) int {
		a, b = key(a), key(b)
		switch {
		case has(flags, 'V'):
			return applets.CompareVersions(a, b)
		case has(flags, 'h'):
			return cmp.Compare(humanNumber(a), humanNumber(b))
		case has(flags, 'n'), has(flags, 'g'):
			return cmp.Compare(humanNumber(strings.TrimRight(a, "kKMGT")), humanNumber(strings.TrimRight(b, "kKMGT")))
		case has(flags, 'f'):
			a, b = strings.ToUpper(a), strings.ToUpper(b)
		}
		return strings.Compare(a, b)
	}
	slices.SortStableFunc(lines, func(a, b string) int {
		if !step() {
			return 0
		}
		if has(flags, 'r') {
			a, b = b, a
		}
		return compare(a, b)
	})
	if has(flags, 'u') {
		lines = slices.CompactFunc(lines, func(a, b string) bool { return compare(a, b) == 0 })
	}
	if has(flags, 'o') {
		if err := p.writeFile(p.path(flags['o']), strings.NewReader(strings.Join(append(lines, ""), "\n")), 0o644); err != nil {
			return p.failPath(flags['o'], err)
		}
		return code
	}
	p.printLines(lines)
	return code
}

// humanNumber reads a number that a line begins with, with a unit as of du -h.
func humanNumber(text string) float64 {
	text = strings.TrimLeft(text, " \t")
	end := 0
	for end < len(text) && (text[end] >= '0' && text[end] <= '9' || text[end] == '.' || end == 0 && text[end] == '-') {
		end++
	}
	n, _ := strconv.ParseFloat(text[:end], 64)
	if end < len(text) {
		for range strings.IndexByte("KMGTPE", text[end]&^0x20) + 1 {
			n *= 1024
		}
	}
	return n
}

// stepper returns a func that takes a step of the program's turn every so often. It returns false once
// the program is to end.
func (p *proc) stepper(ctx context.Context) func() bool {
	turn, n, ended := shell.TurnOf(ctx), 0, false
	return func() bool {
		if n++; n%16 == 0 && !ended {
			ended = turn.Step(ctx) != nil
		}
		return !ended
	}
}

// sortKey returns the function that yields the part of a line to compare: all of it, or with -k N,M the
// fields N to M.
func sortKey(flags map[byte]string) func(line string) string {
	field := int(leadingNumber(flags['k']))
	_, to, bounded := strings.Cut(flags['k'], ",")
	last := int(leadingNumber(to))
	return func(line string) string {
		if field <= 1 && !bounded {
			return line
		}
		fields := strings.Fields(line)
		if separator := flags['t']; separator != "" {
			fields = strings.Split(line, separator)
		}
		if field > len(fields) {
			return ""
		}
		if bounded && last >= field {
			fields = fields[:min(last, len(fields))]
		}
		return strings.Join(fields[max(field, 1)-1:], " ")
	}
}

func (p *proc) printLines(lines []string) {
	for _, line := range lines {
		if _, err := fmt.Fprintf(p.out, "%s\n", line); err != nil {
			return
		}
	}
}

func leadingNumber(text string) int64 {
	text = strings.TrimLeft(text, " \t")
	end := 0
	for end < len(text) && (text[end] >= '0' && text[end] <= '9' || end == 0 && text[end] == '-') {
		end++
	}
	n, _ := strconv.ParseInt(text[:end], 10, 64)
	return n
}

func uniq(ctx context.Context, p *proc) int {
	flags, names, ok := p.parse("cdui", "")
	if !ok {
		return 1
	}
	last, n := "", 0
	show := func() error {
		var err error
		switch {
		case n == 0, has(flags, 'd') && n == 1, has(flags, 'u') && n > 1:
		case has(flags, 'c'):
			_, err = fmt.Fprintf(p.out, "%7d %s\n", n, last)
		default:
			_, err = fmt.Fprintf(p.out, "%s\n", last)
		}
		return err
	}
	code := p.inputs(ctx, names, func(_ string, r io.Reader) error {
		return p.eachLine(r, func(line string) error {
			if line = strings.TrimSuffix(line, "\n"); n > 0 && line == last {
				n++
				return nil
			}
			if err := show(); err != nil {
				return err
			}
			if err := p.keep(len(line)); err != nil {
				return err
			}
			p.drop(len(last))
			last, n = line, 1
			return nil
		})
	})
	if show() != nil {
		return 1
	}
	return code
}

func tac(ctx context.Context, p *proc) int {
	lines, code := p.allLines(ctx, p.args[1:])
	slices.Reverse(lines)
	p.printLines(lines)
	return code
}

func rev(ctx context.Context, p *proc) int {
	return p.eachOf(ctx, p.args[1:], func(line string) error {
		if err := p.keep(5 * len(line)); err != nil {
			return err
		}
		defer p.drop(5 * len(line))
		runes := []rune(line)
		slices.Reverse(runes)
		_, err := fmt.Fprintf(p.out, "%s\n", string(runes))
		return err
	})
}

func nl(ctx context.Context, p *proc) int {
	n := 0
	return p.eachOf(ctx, p.args[1:], func(line string) error {
		n++
		_, err := fmt.Fprintf(p.out, "%6d\t%s\n", n, line)
		return err
	})
}

func tee(ctx context.Context, p *proc) int {
	flags, names, ok := p.parse("aip", "")
	if !ok {
		return 1
	}
	flag := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if has(flags, 'a') {
		flag = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	writers := []io.Writer{p.out}
	code := 0
	for _, name := range names {
		f, err := p.create(ctx, name, flag)
		if err != nil {
			code = p.failPath(name, err)
			continue
		}
		writers = append(writers, f)
	}
	if _, err := io.Copy(io.MultiWriter(writers...), p.stdin(ctx)); err != nil {
		return 1
	}
	return code
}

func encode64(ctx context.Context, p *proc) int {
	flags, names, ok := p.parse("diD", "w")
	if !ok {
		return 1
	}
	return p.inputs(ctx, names, func(_ string, r io.Reader) error {
		if has(flags, 'd') {
			_, err := io.Copy(p.out, base64.NewDecoder(base64.StdEncoding, r))
			return err
		}
		return p.writeBase64(r, flags['w'] != "0")
	})
}

// base64Line is the number of bytes that one line of base64 encodes.
const base64Line = 57

func (p *proc) writeBase64(r io.Reader, lines bool) error {
	buf := make([]byte, base64Line*64)
	for {
		n, err := io.ReadFull(r, buf)
		for rest := buf[:n]; len(rest) > 0; {
			part := rest[:min(base64Line, len(rest))]
			rest = rest[len(part):]
			text := base64.StdEncoding.EncodeToString(part)
			if lines {
				text += "\n"
			}
			if _, err := io.WriteString(p.out, text); err != nil {
				return err
			}
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
