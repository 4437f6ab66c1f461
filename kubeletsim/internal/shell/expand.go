package shell

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// piece is a part of a field. Only what is not quoted has special characters of patterns.
type piece struct {
	text   string
	quoted bool
}

// expansion collects the fields of words.
type expansion struct {
	*Shell
	// split splits unquoted results into fields.
	split bool
	// within counts the enclosing ${a:-word}, whose literals are split, too.
	within int
	ifs    string

	fields [][]piece
	cur    []piece
	// started reports that a field has begun; it may be empty.
	started bool
}

func (s *Shell) newExpansion(split bool) *expansion {
	ifs := " \t\n"
	if v := s.vars["IFS"]; v != nil && v.set {
		ifs = v.text
	}
	return &expansion{Shell: s, split: split, ifs: ifs}
}

// pieceBytes is the memory of a piece or a field besides its text.
const pieceBytes = 48

func (x *expansion) add(text string, quoted bool) error {
	if err := x.hold(len(text) + pieceBytes); err != nil {
		return err
	}
	x.cur = append(x.cur, piece{text, quoted})
	x.started = true
	return nil
}

func (x *expansion) end() {
	if x.started {
		x.fields = append(x.fields, x.cur)
		x.cur, x.started = nil, false
	}
}

// addSplit adds the result of an expansion that is not quoted.
func (x *expansion) addSplit(ctx context.Context, text string) error {
	if !x.split {
		return x.add(text, false)
	}
	separates := func(i int) bool { return strings.IndexByte(x.ifs, text[i]) >= 0 }
	for i := 0; i < len(text); {
		if !separates(i) {
			end := i
			for end < len(text) && !separates(end) {
				end++
			}
			if err := x.add(text[i:end], false); err != nil {
				return err
			}
			i = end
			if err := x.turn.Step(ctx); err != nil {
				return err
			}
			continue
		}
		visible := false
		for ; i < len(text) && separates(i); i++ {
			if strings.IndexByte(" \t\n", text[i]) < 0 {
				if visible {
					break
				}
				visible = true
			}
		}
		if visible {
			x.started = true
		}
		x.end()
	}
	return nil
}

// fields expands words to fields: the arguments of a command.
func (s *Shell) fields(ctx context.Context, words []*syntax.Word) ([]string, error) {
	var all []string
	for _, word := range words {
		expanded, err := s.braces(ctx, word)
		if err != nil {
			return nil, err
		}
		for _, word := range expanded {
			x := s.newExpansion(true)
			if err := x.word(ctx, word.Parts, false, true); err != nil {
				return nil, err
			}
			x.end()
			for _, field := range x.fields {
				if err := s.turn.Step(ctx); err != nil {
					return nil, err
				}
				names, err := s.glob(ctx, field)
				if err != nil {
					return nil, err
				}
				if err := s.hold(len(names) * pieceBytes); err != nil {
					return nil, err
				}
				all = append(all, names...)
			}
		}
	}
	return all, nil
}

// text expands a word to one text, without splitting: the value of an assignment.
func (s *Shell) text(ctx context.Context, word *syntax.Word) (string, error) {
	if word == nil {
		return "", nil
	}
	x := s.newExpansion(false)
	if err := x.word(ctx, word.Parts, false, true); err != nil {
		return "", err
	}
	return joined(x.cur), nil
}

// quotedText expands parts as if within double quotes.
func (s *Shell) quotedText(ctx context.Context, parts []syntax.WordPart, document bool) (string, error) {
	x := s.newExpansion(false)
	for _, part := range parts {
		if lit, ok := part.(*syntax.Lit); ok && document {
			if err := x.add(unescaped(lit.Value, "$`\\\n"), true); err != nil {
				return "", err
			}
			continue
		}
		if err := x.part(ctx, part, true); err != nil {
			return "", err
		}
	}
	return joined(x.cur), nil
}

func joined(field []piece) string {
	if len(field) == 1 {
		return field[0].text
	}
	var b strings.Builder
	for _, p := range field {
		b.WriteString(p.text)
	}
	return b.String()
}

// word adds the parts of a word. tilde is whether it may begin with a home directory.
func (x *expansion) word(ctx context.Context, parts []syntax.WordPart, quoted, tilde bool) error {
	for i, part := range parts {
		if lit, ok := part.(*syntax.Lit); ok && i == 0 && tilde && strings.HasPrefix(lit.Value, "~") {
			rest, err := x.home(ctx, lit.Value, len(parts) == 1)
			if err != nil {
				return err
			}
			if err := x.literal(ctx, rest); err != nil {
				return err
			}
			continue
		}
		if err := x.part(ctx, part, quoted); err != nil {
			return err
		}
	}
	return nil
}

func (x *expansion) part(ctx context.Context, part syntax.WordPart, quoted bool) error {
	switch part := part.(type) {
	case *syntax.Lit:
		if quoted {
			return x.add(unescaped(part.Value, "$`\"\\\n"), true)
		}
		return x.literal(ctx, part.Value)
	case *syntax.SglQuoted:
		if part.Dollar {
			text, _ := escapes(part.Value, ansiEscapes)
			return x.add(text, true)
		}
		if quoted { // it is part of "${a:-'b'}", where single quotes are characters
			return x.add("'"+part.Value+"'", true)
		}
		return x.add(part.Value, true)
	case *syntax.DblQuoted:
		return x.doubleQuoted(ctx, part)
	case *syntax.ParamExp:
		return x.nested(func() error { return x.parameter(ctx, part, quoted) })
	case *syntax.CmdSubst:
		if part.TempFile || part.ReplyVar {
			return x.fail("this form of command substitution is not simulated")
		}
		text, err := x.capture(ctx, part.Stmts)
		if err != nil {
			return err
		}
		return x.result(ctx, text, quoted)
	case *syntax.ArithmExp:
		n, err := x.arithmetic(ctx, part.X)
		if errors.Is(err, errUnknownNumber) {
			return x.result(ctx, unknown.Text, quoted)
		}
		if err != nil {
			return err
		}
		return x.result(ctx, strconv.FormatInt(n, 10), quoted)
	case *syntax.ExtGlob:
		return x.add(part.Op.String()+part.Pattern.Value+")", false)
	case *syntax.ProcSubst:
		name, err := x.substitute(ctx, part)
		if err != nil {
			return err
		}
		return x.add(name, true)
	}
	return x.fail("a word has a part that is not simulated")
}

// result adds the result of an expansion.
func (x *expansion) result(ctx context.Context, text string, quoted bool) error {
	if quoted {
		return x.add(text, true)
	}
	return x.addSplit(ctx, text)
}

// doubleQuoted adds "...". Alone, "$@" without parameters is no field at all.
func (x *expansion) doubleQuoted(ctx context.Context, q *syntax.DblQuoted) error {
	before := x.started
	for _, part := range q.Parts {
		if err := x.part(ctx, part, true); err != nil {
			return err
		}
	}
	if !x.started && !before {
		if len(q.Parts) == 1 {
			if pe, ok := q.Parts[0].(*syntax.ParamExp); ok && isAtList(pe) {
				return nil
			}
		}
		return x.add("", true)
	}
	return nil
}

// isAtList reports whether a parameter expansion is one of "$@" or "${a[@]}".
func isAtList(pe *syntax.ParamExp) bool {
	if pe.Param != nil && pe.Param.Value == "@" {
		return true
	}
	return indexText(pe.Index) == "@" || pe.Names == syntax.NamesPrefixWords
}

// literal adds a literal that is not quoted, in which backslashes quote.
func (x *expansion) literal(ctx context.Context, text string) error {
	for text != "" {
		i := strings.IndexByte(text, '\\')
		plain := text
		if i >= 0 {
			plain = text[:i]
		}
		if plain != "" {
			add := func() error { return x.add(plain, false) }
			if x.within > 0 {
				add = func() error { return x.addSplit(ctx, plain) }
			}
			if err := add(); err != nil {
				return err
			}
		}
		if i < 0 {
			return nil
		}
		text = text[i+1:]
		switch {
		case text == "":
			return x.add(`\`, true)
		case text[0] == '\n':
			text = text[1:]
			continue
		}
		_, n := firstRune(text)
		if err := x.add(text[:n], true); err != nil {
			return err
		}
		text = text[n:]
	}
	return nil
}

// unescaped removes the backslashes before special characters, and escaped line ends.
func unescaped(text, special string) string {
	if strings.IndexByte(text, '\\') < 0 {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && strings.IndexByte(special, text[i+1]) >= 0 {
			i++
			if text[i] == '\n' {
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// home adds the home directory that a word begins with, and returns the rest of the word. It looks users up
// in the container's /etc/passwd.
func (x *expansion) home(ctx context.Context, text string, whole bool) (rest string, err error) {
	name, rest, slash := strings.Cut(text[1:], "/")
	if slash {
		rest = "/" + rest
	} else if !whole {
		return text, nil
	}
	dir, ok := "", false
	switch {
	case name == "":
		dir, ok = x.vars["HOME"].single()
		if !ok {
			dir, ok = x.homeOf("root")
		}
	case name == "+":
		dir, ok = x.vars["PWD"].single()
	case name == "-":
		dir, ok = x.vars["OLDPWD"].single()
	default:
		dir, ok = x.homeOf(name)
	}
	if !ok {
		return text, nil
	}
	return rest, x.add(dir, true)
}

// maxPasswd bounds what is read of /etc/passwd, in bytes.
const maxPasswd = 64 << 10

// homeOf returns the home directory of a user.
func (s *Shell) homeOf(user string) (string, bool) {
	f, err := s.Container.Open("/etc/passwd", 0, 0)
	if err != nil {
		return "", false
	}
	defer f.Close() // it is only read
	data := make([]byte, maxPasswd)
	n := 0
	for n < len(data) {
		read, err := f.Read(data[n:])
		n += read
		if err != nil || read == 0 {
			break
		}
	}
	for line := range strings.Lines(string(data[:n])) {
		columns := strings.Split(strings.TrimSpace(line), ":")
		if columns[0] == user && len(columns) > 5 {
			return columns[5], true
		}
	}
	return "", false
}
