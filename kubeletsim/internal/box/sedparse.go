package box

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// sedCommand is one command of a script of sed.
type sedCommand struct {
	from, to *sedAddress
	not      bool
	verb     byte
	// match, with, all, prints and nth are arguments of s. characters maps the characters of y.
	match           *regexp.Regexp
	with            string
	all, prints     bool
	nth             int
	characters      map[rune]rune
	text            string
	number          int
	block           []*sedCommand
	active          bool
	until           int
	writesTo, label string
}

// sedAddress selects lines.
type sedAddress struct {
	line, step int
	last       bool
	match      *regexp.Regexp
	// plus means that it counts lines from the first address on.
	plus bool
}

// sedParser reads a script.
type sedParser struct {
	text     string
	extended bool
	last     *regexp.Regexp
	depth    int
	// unknown means that a regular expression is unknown.
	unknown bool
	count   int
}

// maxSedCommands bounds the commands of a script.
const maxSedCommands = 10000

func (s *sedParser) skip(chars string) { s.text = strings.TrimLeft(s.text, chars) }

func (s *sedParser) take() byte {
	if s.text == "" {
		return 0
	}
	c := s.text[0]
	s.text = s.text[1:]
	return c
}

// commands reads commands to the end of the script, or of a block.
func (s *sedParser) commands() ([]*sedCommand, error) {
	var list []*sedCommand
	for {
		s.skip(" \t\n;")
		if s.text == "" || s.text[0] == '}' {
			if s.text == "" == (s.depth > 0) {
				return nil, fmt.Errorf("unmatched { or }")
			}
			return list, nil
		}
		if s.count++; s.count > maxSedCommands {
			return nil, fmt.Errorf("too many commands")
		}
		c, err := s.command()
		if err != nil {
			return nil, err
		}
		if c != nil {
			list = append(list, c)
		}
	}
}

func (s *sedParser) command() (*sedCommand, error) {
	c := &sedCommand{}
	var err error
	if c.from, err = s.address(); err != nil {
		return nil, err
	}
	if s.skip(" \t"); c.from != nil && strings.HasPrefix(s.text, ",") {
		s.take()
		s.skip(" \t")
		if c.to, err = s.address(); err != nil {
			return nil, err
		}
		if c.to == nil {
			return nil, fmt.Errorf("unexpected ,")
		}
	}
	for s.skip(" \t"); strings.HasPrefix(s.text, "!"); s.skip(" \t") {
		s.take()
		c.not = true
	}
	switch c.verb = s.take(); c.verb {
	case '#':
		_, s.text, _ = strings.Cut(s.text, "\n")
		return nil, nil
	case '{':
		s.depth++
		if s.depth > 100 {
			return nil, fmt.Errorf("too many {")
		}
		if c.block, err = s.commands(); err != nil {
			return nil, err
		}
		s.depth--
		s.take()
	case '=', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z':
	case 'q', 'Q':
		s.skip(" \t")
		c.number = int(leadingNumber(s.text))
		s.skip("0123456789")
	case 'a', 'i', 'c':
		c.text = s.lines()
	case 'r', 'w':
		s.skip(" \t")
		c.writesTo, s.text, _ = strings.Cut(s.text, "\n")
	case 'b', 't', 'T', ':':
		s.skip(" \t")
		end := strings.IndexAny(s.text, "\n;}")
		if c.verb == ':' {
			end = strings.IndexAny(s.text, "\n;")
		}
		if end < 0 {
			end = len(s.text)
		}
		c.label, s.text = strings.TrimSpace(s.text[:end]), s.text[end:]
	case 's':
		return c, s.substitution(c)
	case 'y':
		return c, s.transliteration(c)
	default:
		return nil, fmt.Errorf("unknown command: '%c'", c.verb)
	}
	return c, nil
}

// lines reads the text of a, i and c: GNU's on one line, or POSIX's after a backslash.
func (s *sedParser) lines() string {
	s.skip(" \t")
	if strings.HasPrefix(s.text, "\\") {
		s.take()
		s.skip(" \t")
		if strings.HasPrefix(s.text, "\n") {
			s.take()
		}
	}
	var b strings.Builder
	for s.text != "" {
		c := s.take()
		if c == '\\' && s.text != "" {
			if c = s.take(); c == 't' {
				c = '\t'
			}
			b.WriteByte(c)
			continue
		}
		if c == '\n' {
			break
		}
		b.WriteByte(c)
	}
	return b.String() + "\n"
}

func (s *sedParser) address() (*sedAddress, error) {
	switch {
	case s.text == "":
		return nil, nil
	case s.text[0] >= '0' && s.text[0] <= '9' || s.text[0] == '+':
		plus := s.text[0] == '+'
		s.skip("+")
		a := &sedAddress{line: int(leadingNumber(s.text)), plus: plus}
		s.skip("0123456789")
		if strings.HasPrefix(s.text, "~") {
			s.take()
			a.step = int(leadingNumber(s.text))
			s.skip("0123456789")
		}
		return a, nil
	case s.text[0] == '$':
		s.take()
		return &sedAddress{last: true}, nil
	case s.text[0] == '/' || s.text[0] == '\\':
		if s.take() == '\\' {
			return s.addressMatch(s.take())
		}
		return s.addressMatch('/')
	}
	return nil, nil
}

func (s *sedParser) addressMatch(delimiter byte) (*sedAddress, error) {
	pattern, err := s.until(delimiter, true)
	if err != nil {
		return nil, err
	}
	fold := strings.HasPrefix(s.text, "I")
	if fold {
		s.take()
	}
	match, err := s.compile(pattern, fold, false)
	return &sedAddress{match: match}, err
}

// until reads to a delimiter that is not quoted.
func (s *sedParser) until(delimiter byte, brackets bool) (string, error) {
	var b strings.Builder
	within := false
	for s.text != "" {
		c := s.take()
		switch {
		case c == '\\' && s.text != "":
			next := s.take()
			if next != delimiter || within {
				b.WriteByte('\\')
			}
			if next == 'n' && delimiter == 'n' {
				b.WriteByte('\\')
			}
			b.WriteByte(next)
			continue
		case c == '[' && brackets && !within:
			within = true
			b.WriteByte(c)
			for _, first := range []string{"^", "]"} {
				if strings.HasPrefix(s.text, first) {
					b.WriteByte(s.take())
				}
			}
			continue
		case c == ']' && within && !strings.HasSuffix(b.String(), ":"):
			within = false
		case c == delimiter && !within:
			return b.String(), nil
		}
		b.WriteByte(c)
	}
	return "", fmt.Errorf("unterminated %c", delimiter)
}

func (s *sedParser) compile(pattern string, fold, lines bool) (*regexp.Regexp, error) {
	if pattern == "" && s.last != nil {
		return s.last, nil
	}
	s.unknown = s.unknown || unknown.In(pattern)
	flags := map[byte]string{}
	if s.extended {
		flags['E'] = ""
	}
	if fold {
		flags['i'] = ""
	}
	pattern = strings.ReplaceAll(pattern, "[^]", `[^\]`)
	if lines {
		flags['E'] = ""
		if !s.extended {
			pattern = fromBasic(pattern)
		}
		pattern = "(?m)" + pattern
	}
	match, err := compilePattern(pattern, flags, false)
	if err != nil {
		return nil, fmt.Errorf("bad regex '%s'", pattern)
	}
	match.Longest()
	s.last = match
	return match, nil
}

// substitution reads s/REGEX/REPLACEMENT/FLAGS.
func (s *sedParser) substitution(c *sedCommand) error {
	delimiter := s.take()
	if delimiter == 0 || delimiter == '\n' || delimiter == '\\' {
		return fmt.Errorf("bad delimiter of s")
	}
	pattern, err := s.until(delimiter, true)
	if err == nil {
		c.with, err = s.until(delimiter, false)
	}
	if err != nil {
		return err
	}
	fold, lines := false, false
	for s.text != "" && strings.IndexByte(" \t\n;}#", s.text[0]) < 0 {
		switch flag := s.take(); {
		case flag == 'g':
			c.all = true
		case flag == 'p':
			c.prints = true
		case flag == 'i' || flag == 'I':
			fold = true
		case flag == 'm' || flag == 'M':
			lines = true
		case flag >= '1' && flag <= '9':
			n, _ := strconv.Atoi(string(flag))
			c.nth = n
		case flag == 'w':
			s.skip(" \t")
			c.writesTo, s.text, _ = strings.Cut(s.text, "\n")
		default:
			return fmt.Errorf("unknown option to s: '%c'", flag)
		}
	}
	c.match, err = s.compile(pattern, fold, lines)
	return err
}

// transliteration reads y/ABC/abc/.
func (s *sedParser) transliteration(c *sedCommand) error {
	delimiter := s.take()
	from, err := s.until(delimiter, false)
	if err != nil {
		return err
	}
	to, err := s.until(delimiter, false)
	if err != nil {
		return err
	}
	escaped := strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`)
	a, b := []rune(escaped.Replace(from)), []rune(escaped.Replace(to))
	if len(a) != len(b) {
		return fmt.Errorf("strings for y are of different lengths")
	}
	c.characters = map[rune]rune{}
	for i, r := range a {
		c.characters[r] = b[i]
	}
	return nil
}
