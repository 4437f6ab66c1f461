package box

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"

	"minikcm.dev/minikcm/kubeletsim/internal/applets"
)

// errSuffixes means that there are more pieces than suffixes.
var errSuffixes = errors.New("output file suffixes exhausted")

// split writes an input to several files, which have as many lines or bytes each.
func split(ctx context.Context, p *proc) int {
	flags, names, ok := p.parse("dv", "lbaSCn")
	if !ok {
		return 1
	}
	for _, option := range []byte("Cn") {
		if has(flags, option) {
			return p.unsupported("-" + string(option))
		}
	}
	pieces := &pieces{proc: p, prefix: "x", width: 2, digits: has(flags, 'd'), suffix: flags['S']}
	pieces.open = func(name string) (io.Writer, error) { return p.create(ctx, name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC) }
	if has(flags, 'a') {
		pieces.width = int(leadingNumber(flags['a']))
	}
	text, inBytes := flags['b'], has(flags, 'b')
	if !inBytes {
		text = "1000"
		if has(flags, 'l') {
			text = flags['l']
		}
	}
	n, ok := applets.ParseSize(text)
	if !ok || n < 1 || pieces.width < 1 || pieces.width > maxSuffix {
		return p.fail("invalid number '%s'", text)
	}
	from := "-"
	if len(names) > 0 {
		from = names[0]
	}
	if len(names) > 1 {
		pieces.prefix = names[1]
	}
	return p.inputs(ctx, []string{from}, func(_ string, r io.Reader) error {
		if inBytes {
			return pieces.bytes(r, n)
		}
		return pieces.lines(r, n)
	})
}

// maxSuffix bounds the letters that split adds to a name.
const maxSuffix = 20

// pieces are the files that split writes.
type pieces struct {
	*proc
	open           func(name string) (io.Writer, error)
	prefix, suffix string
	width          int
	digits         bool
	n              int
}

// next creates the next file.
func (f *pieces) next() (io.Writer, error) {
	first, base := byte('a'), 26
	if f.digits {
		first, base = '0', 10
	}
	name := make([]byte, f.width)
	rest := f.n
	for i := f.width - 1; i >= 0; i-- {
		name[i] = first + byte(rest%base)
		rest /= base
	}
	if rest > 0 {
		return nil, errSuffixes
	}
	f.n++
	return f.open(f.prefix + string(name) + f.suffix)
}

func (f *pieces) lines(r io.Reader, n int64) error {
	var out io.Writer
	left := int64(0)
	return f.eachLine(r, func(line string) (err error) {
		if left == 0 {
			if out, err = f.next(); err != nil {
				return err
			}
			left = n
		}
		left--
		_, err = io.WriteString(out, line)
		return err
	})
}

func (f *pieces) bytes(r io.Reader, n int64) error {
	in := bufio.NewReader(r)
	for {
		if _, err := in.Peek(1); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		out, err := f.next()
		if err != nil {
			return err
		}
		if _, err := io.CopyN(out, in, n); err != nil && err != io.EOF {
			return err
		}
	}
}

// comm compares two sorted files line by line: lines of the first, of the second, and of both are in columns.
func comm(ctx context.Context, p *proc) int {
	flags, names, ok := p.parse("123", "o")
	if !ok {
		return 1
	}
	if len(names) != 2 {
		return p.fail("two files are needed")
	}
	a, b, ok := p.bothLines(ctx, names)
	if !ok {
		return 1
	}
	tab := "\t"
	if has(flags, 'o') {
		tab = flags['o']
	}
	indent := map[byte]string{}
	before := ""
	for _, column := range []byte("123") {
		if !has(flags, column) {
			indent[column], before = before, before+tab
		}
	}
	for len(a) > 0 || len(b) > 0 {
		column, line := byte('3'), ""
		switch {
		case len(b) == 0 || len(a) > 0 && a[0] < b[0]:
			column, line, a = '1', a[0], a[1:]
		case len(a) == 0 || b[0] < a[0]:
			column, line, b = '2', b[0], b[1:]
		default:
			line, a, b = a[0], a[1:], b[1:]
		}
		if has(flags, column) {
			continue
		}
		if _, err := io.WriteString(p.out, indent[column]+line+"\n"); err != nil {
			return 1
		}
	}
	return 0
}

// bothLines reads the lines of two files.
func (p *proc) bothLines(ctx context.Context, names []string) (a, b []string, ok bool) {
	a, codeA := p.allLines(ctx, names[:1])
	b, codeB := p.allLines(ctx, names[1:])
	return a, b, codeA == 0 && codeB == 0
}

// join joins the lines of two sorted files that have a field in common.
func join(ctx context.Context, p *proc) int {
	flags, names, ok := p.parse("i", "t12javeo")
	if !ok {
		return 1
	}
	for _, option := range []byte("eo") {
		if has(flags, option) {
			return p.unsupported("-" + string(option))
		}
	}
	if len(names) != 2 {
		return p.fail("two files are needed")
	}
	a, b, ok := p.bothLines(ctx, names)
	if !ok {
		return 1
	}
	j := joining{proc: p, separator: flags['t'], ignoreCase: has(flags, 'i')}
	for i, option := range []byte("12") {
		text := flags['j']
		if has(flags, option) {
			text = flags[option]
		}
		if j.field[i] = 1; text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 {
				return p.fail("invalid field number: '%s'", text)
			}
			j.field[i] = n
		}
		number := strconv.Itoa(i + 1)
		j.alone[i] = flags['a'] == number || flags['v'] == number
	}
	return j.run(ctx, a, b, has(flags, 'v'))
}

// joining is one run of join.
type joining struct {
	*proc
	separator  string
	ignoreCase bool
	field      [2]int
	// alone are the files whose lines are shown that match none of the other.
	alone [2]bool
}

// key returns the field by which a line of a file is joined, and the others.
func (j *joining) key(file int, line string) (key string, rest []string) {
	fields := strings.Fields(line)
	if j.separator != "" {
		fields = strings.Split(line, j.separator)
	}
	for i, field := range fields {
		if i == j.field[file]-1 {
			key = field
		} else {
			rest = append(rest, field)
		}
	}
	return key, rest
}

// group returns the key of the first line of a file, and how many lines have it.
func (j *joining) group(file int, lines []string, step func() bool) (key string, n int) {
	if len(lines) == 0 {
		return "", 0
	}
	for key, _ = j.key(file, lines[0]); n < len(lines) && step(); n++ {
		if other, _ := j.key(file, lines[n]); j.compare(key, other) != 0 {
			break
		}
	}
	return key, max(n, 1)
}

func (j *joining) compare(a, b string) int {
	if j.ignoreCase {
		a, b = strings.ToLower(a), strings.ToLower(b)
	}
	return strings.Compare(a, b)
}

// run joins lines. only means that those which match are left out.
func (j *joining) run(ctx context.Context, a, b []string, only bool) int {
	step, joint := j.stepper(ctx), j.separator
	if joint == "" {
		joint = " "
	}
	show := func(key string, rest ...string) {
		_, _ = io.WriteString(j.out, strings.Join(append([]string{key}, rest...), joint)+"\n")
	}
	alone := func(file int, lines []string) {
		for _, line := range lines {
			if key, rest := j.key(file, line); j.alone[file] {
				show(key, rest...)
			}
		}
	}
	for (len(a) > 0 || len(b) > 0) && step() {
		keyA, nA := j.group(0, a, step)
		keyB, nB := j.group(1, b, step)
		switch order := j.compare(keyA, keyB); {
		case nB == 0 || nA > 0 && order < 0:
			alone(0, a[:nA])
			nB = 0
		case nA == 0 || order > 0:
			alone(1, b[:nB])
			nA = 0
		case !only:
			for _, line := range a[:nA] {
				_, rest := j.key(0, line)
				for _, other := range b[:nB] {
					if _, more := j.key(1, other); step() {
						show(keyA, append(rest[:len(rest):len(rest)], more...)...)
					}
				}
			}
		}
		a, b = a[nA:], b[nB:]
	}
	return 0
}
