package box

import (
	"context"
	"errors"
	"io"
	"path"
	"regexp"
	"strings"

	"minikcm.dev/minikcm/kubeletsim/internal/shell"
)

// grepping is one call of grep.
type grepping struct {
	*proc
	flags map[byte]string
	match *regexp.Regexp
	// limit is the number of lines to be found in a file; negative: all.
	limit  int
	titled bool
	found  bool
}

func grep(ctx context.Context, p *proc) int {
	flags, rest, ok := p.parse("ivnclqoEFGPwxhHrRsazL", "efmABC")
	if !ok {
		return 2
	}
	for _, option := range []byte("fABCz") {
		if has(flags, option) {
			p.unsupported("-" + string(option))
			return 2
		}
	}
	if has(flags, 'R') {
		flags['r'] = "set"
	}
	pattern, given := flags['e']
	if !given {
		if len(rest) == 0 {
			p.fail("no pattern")
			return 2
		}
		pattern, rest = rest[0], rest[1:]
	}
	if path.Base(p.args[0]) == "fgrep" {
		flags['F'] = "set"
	}
	match, err := compilePattern(pattern, flags, path.Base(p.args[0]) == "egrep")
	if err != nil && has(flags, 'P') {
		p.unsupported("-P " + pattern)
		return 2
	}
	if err != nil {
		p.fail("bad regex '%s'", pattern)
		return 2
	}
	if has(flags, 'r') {
		rest = p.filesBeneath(rest)
	}
	g := &grepping{proc: p, flags: flags, match: match, limit: -1, titled: (len(rest) > 1 || has(flags, 'r') || has(flags, 'H')) && !has(flags, 'h')}
	if has(flags, 'm') {
		g.limit = int(leadingNumber(flags['m']))
	}
	code := p.inputs(ctx, rest, func(name string, r io.Reader) error { return g.search(ctx, name, r) })
	switch {
	case g.found:
		return 0
	case code != 0:
		return 2
	}
	return 1
}

// search looks for the pattern in one input.
func (g *grepping) search(ctx context.Context, name string, r io.Reader) error {
	title := ""
	if g.titled {
		title = name + ":"
	}
	n, number := 0, 0
	err := g.eachLine(r, func(line string) error {
		number++
		line = strings.TrimSuffix(line, "\n")
		if found, err := shell.FindSubmatch(ctx, g.match, line); err != nil || (found != nil) == has(g.flags, 'v') {
			return err
		}
		if g.limit >= 0 && n >= g.limit {
			return io.EOF
		}
		n++
		return g.show(ctx, title, line, number)
	})
	if err == io.EOF {
		err = nil
	}
	g.found = g.found || n > 0 != has(g.flags, 'L')
	switch {
	case has(g.flags, 'q'):
	case has(g.flags, 'c'):
		g.print("%s%d\n", title, n)
	case has(g.flags, 'l') && n > 0, has(g.flags, 'L') && n == 0:
		g.print("%s\n", name)
	}
	return err
}

// show writes a line that was found, or the parts of it that match.
func (g *grepping) show(ctx context.Context, title, line string, number int) error {
	switch {
	case has(g.flags, 'q') || has(g.flags, 'c') || has(g.flags, 'l') || has(g.flags, 'L'):
	case has(g.flags, 'o'):
		if err := g.keep(lineBytes * len(line)); err != nil {
			return err
		}
		defer g.drop(lineBytes * len(line))
		kept := g.match.SubexpIndex(keptGroup)
		return shell.FindAll(ctx, g.match, line, func(part string) {
			if kept >= 0 {
				if groups := g.match.FindStringSubmatch(part); groups != nil {
					part = groups[kept]
				}
			}
			g.print("%s%s\n", title, part)
		})
	case has(g.flags, 'n'):
		g.print("%s%d:%s\n", title, number, line)
	default:
		g.print("%s%s\n", title, line)
	}
	return nil
}

// maxRegexp bounds a regular expression, whose program takes far more memory than its text.
const maxRegexp = 4 << 10

// compilePattern reads a regular expression, basic unless flags say otherwise.
func compilePattern(pattern string, flags map[byte]string, extended bool) (*regexp.Regexp, error) {
	if len(pattern) > maxRegexp {
		return nil, errors.New("it is too long")
	}
	switch {
	case has(flags, 'F'):
		pattern = regexp.QuoteMeta(pattern)
	case has(flags, 'P'):
		pattern = strings.ReplaceAll(pattern, `\h`, `[ \t]`)
		if i := keepOut(pattern); i >= 0 {
			pattern = "(?:" + pattern[:i] + ")(?P<" + keptGroup + ">" + pattern[i+2:] + ")"
		}
	case !extended && !has(flags, 'E'):
		pattern = fromBasic(pattern)
	}
	if has(flags, 'w') {
		pattern = `\b(?:` + pattern + `)\b`
	}
	if has(flags, 'x') {
		pattern = `^(?:` + pattern + `)$`
	}
	if has(flags, 'i') {
		pattern = "(?i)" + pattern
	}
	return regexp.Compile(pattern)
}

// keptGroup is the group of what grep -o shows of a match: what follows \K.
const keptGroup = "kept"

// keepOut returns the position of the only \K in a pattern of Perl's, outside of groups; -1 if there is none.
func keepOut(pattern string) int {
	found, depth := -1, 0
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			if i+1 < len(pattern) && pattern[i+1] == 'K' && depth == 0 && found < 0 {
				found = i
			}
			i++
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case '|':
			if depth == 0 {
				return -1
			}
		}
	}
	return found
}

// fromBasic turns a basic regular expression into an extended one: the two differ in
// which of some characters are escaped.
func fromBasic(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		switch {
		case c == '\\' && i+1 < len(pattern) && strings.IndexByte("+?|(){}", pattern[i+1]) >= 0:
			i++
			b.WriteByte(pattern[i])
		case c == '\\' && i+1 < len(pattern):
			b.WriteString(pattern[i : i+2])
			i++
		case strings.IndexByte("+?|(){}", c) >= 0:
			b.WriteByte('\\')
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
