package shell

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

const (
	// maxPatternDepth bounds how deep extended patterns such as @(a|b) nest.
	maxPatternDepth = 50
	// maxGrouped bounds a pattern with such groups, in bytes: in a longer one they are literal.
	maxGrouped = 4 << 10
	// maxBracket bounds a bracket expression, in characters: a longer one is literal.
	maxBracket = 256
)

// Pattern is a compiled pattern: a machine of states that is in several states at once, so that matching
// takes time in proportion to the lengths of text and pattern multiplied, whatever the pattern.
type Pattern struct {
	states []state
	// not is the pattern of !(...), which only a whole pattern may be.
	not *Pattern
	// text is the only text that matches, if there are no special characters.
	text    string
	literal bool
}

// state is one state of the machine: it consumes a character and leads to next, or, as a fork, leads to
// next and other without consuming any.
type state struct {
	fork        bool
	set         *charSet // nil: char
	char        rune
	next, other int
}

// charSet is a bracket expression, or any character.
type charSet struct {
	any, negated bool
	ranges       [][2]rune
	classes      []func(rune) bool
}

func (c *charSet) has(r rune) bool {
	if c.any {
		return true
	}
	found := false
	for _, span := range c.ranges {
		found = found || r >= span[0] && r <= span[1]
	}
	for _, class := range c.classes {
		found = found || class(r)
	}
	return found != c.negated
}

// CompilePattern compiles a pattern of the shell; backslashes quote.
func CompilePattern(pattern string) *Pattern {
	p := &Pattern{}
	if strings.HasPrefix(pattern, "!(") && strings.HasSuffix(pattern, ")") {
		p.not = CompilePattern("@" + pattern[1:])
		return p
	}
	if !strings.ContainsAny(pattern, `*?[\+@!(|`) {
		p.text, p.literal = pattern, true
		return p
	}
	c := compiler{p: p, groups: len(pattern) <= maxGrouped}
	c.sequence([]rune(pattern), 0)
	return p
}

// compiler appends states. A state's next is the one after it, unless it is set otherwise.
type compiler struct {
	p      *Pattern
	groups bool
}

func (c *compiler) emit(s state) int {
	at := len(c.p.states)
	if !s.fork {
		s.next = at + 1
	}
	c.p.states = append(c.p.states, s)
	return at
}

func (c *compiler) sequence(text []rune, depth int) {
	for i := 0; i < len(text); {
		switch r := text[i]; {
		case c.groups && depth < maxPatternDepth && i+1 < len(text) && text[i+1] == '(' && strings.ContainsRune("?*+@", r):
			if alternatives, n := alternatives(text[i+1:]); n > 0 {
				c.group(r, alternatives, depth)
				i += 1 + n
				continue
			}
			fallthrough
		case r == '*' || r == '?':
			if r == '*' {
				at := c.emit(state{fork: true})
				c.emit(state{set: &charSet{any: true}})
				c.p.states[at+1].next = at
				c.p.states[at].next, c.p.states[at].other = at+1, at+2
			} else if r == '?' {
				c.emit(state{set: &charSet{any: true}})
			} else {
				c.emit(state{char: r})
			}
			i++
		case r == '[':
			set, n := bracket(text[i:])
			if n == 0 {
				c.emit(state{char: r})
				i++
				continue
			}
			c.emit(state{set: set})
			i += n
		case r == '\\' && i+1 < len(text):
			c.emit(state{char: text[i+1]})
			i += 2
		default:
			c.emit(state{char: r})
			i++
		}
	}
}

// alternatives reads (a|b|c). It returns the number of characters that it takes; 0 if it does not end.
func alternatives(text []rune) (all [][]rune, n int) {
	depth, from := 0, 1
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return append(all, text[from:i]), i + 1
			}
		case '|':
			if depth == 1 {
				all = append(all, text[from:i])
				from = i + 1
			}
		}
	}
	return nil, 0
}

// group appends alternatives that occur as often as the operator says.
func (c *compiler) group(op rune, alternatives [][]rune, depth int) {
	begin := len(c.p.states)
	var skip int
	if op == '?' || op == '*' {
		skip = c.emit(state{fork: true, next: begin + 1})
	}
	entry := len(c.p.states)
	var ends []int
	for i, alternative := range alternatives {
		last := i == len(alternatives)-1
		at := -1
		if !last {
			at = c.emit(state{fork: true, next: len(c.p.states) + 1})
		}
		c.sequence(alternative, depth+1)
		if !last {
			ends = append(ends, c.emit(state{fork: true}))
			c.p.states[at].other = len(c.p.states)
		}
	}
	for _, end := range ends {
		c.p.states[end].next, c.p.states[end].other = len(c.p.states), len(c.p.states)
	}
	if op == '*' || op == '+' {
		at := c.emit(state{fork: true, next: entry})
		c.p.states[at].other = at + 1
	}
	if op == '?' || op == '*' {
		c.p.states[skip].other = len(c.p.states)
	}
}

// bracket reads [...]. It returns the number of characters that it takes; 0 if it does not end.
func bracket(text []rune) (*charSet, int) {
	text = text[:min(len(text), maxBracket)]
	set := &charSet{}
	i := 1
	if i < len(text) && (text[i] == '!' || text[i] == '^') {
		set.negated = true
		i++
	}
	for first := true; i < len(text); first = false {
		r := text[i]
		switch {
		case r == ']' && !first:
			return set, i + 1
		case r == '[' && i+1 < len(text) && text[i+1] == ':':
			if end := strings.Index(string(text[i:]), ":]"); end > 0 {
				name := string(text[i:])[2:end]
				if class := classOf(name); class != nil {
					set.classes = append(set.classes, class)
				}
				i += utf8.RuneCountInString(string(text[i:])[:end]) + 2
				continue
			}
		case r == '\\' && i+1 < len(text):
			i++
			r = text[i]
		}
		i++
		to := r
		if i+1 < len(text) && text[i] == '-' && text[i+1] != ']' {
			to = text[i+1]
			i += 2
			if to == '\\' && i < len(text) {
				to = text[i]
				i++
			}
		}
		set.ranges = append(set.ranges, [2]rune{r, to})
	}
	return nil, 0
}

func classOf(name string) func(rune) bool {
	switch name {
	case "alpha":
		return unicode.IsLetter
	case "digit":
		return func(r rune) bool { return r >= '0' && r <= '9' }
	case "alnum":
		return func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	case "upper":
		return unicode.IsUpper
	case "lower":
		return unicode.IsLower
	case "space":
		return unicode.IsSpace
	case "blank":
		return func(r rune) bool { return r == ' ' || r == '\t' }
	case "punct":
		return func(r rune) bool { return r > ' ' && r < 127 && !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	case "cntrl":
		return unicode.IsControl
	case "print":
		return unicode.IsPrint
	case "graph":
		return unicode.IsGraphic
	case "xdigit":
		return func(r rune) bool { return strings.ContainsRune("0123456789abcdefABCDEF", r) }
	}
	return nil
}

func firstRune(text string) (rune, int) { return utf8.DecodeRuneInString(text) }

// scan runs the machine over a text from its start, and calls at with each length that matches, in order;
// at returns false to stop.
func (p *Pattern) scan(ctx context.Context, text string, at func(n int) bool) error {
	present, next := newStateSet(len(p.states)), newStateSet(len(p.states))
	p.enter(present, 0)
	turn := TurnOf(ctx)
	for i := 0; ; {
		if present.has[len(p.states)] && !at(i) {
			return nil
		}
		if i == len(text) || len(present.list) == 0 {
			return nil
		}
		if err := turn.Step(ctx); err != nil {
			return err
		}
		r, n := firstRune(text[i:])
		next.clear()
		for _, q := range present.list {
			if q == len(p.states) || p.states[q].fork {
				continue
			}
			if st := &p.states[q]; st.set != nil && st.set.has(r) || st.set == nil && st.char == r {
				p.enter(next, st.next)
			}
		}
		present, next = next, present
		i += n
	}
}

type stateSet struct {
	list []int
	has  []bool
}

func newStateSet(n int) *stateSet { return &stateSet{has: make([]bool, n+1)} }

func (s *stateSet) clear() {
	for _, q := range s.list {
		s.has[q] = false
	}
	s.list = s.list[:0]
}

// enter adds a state and those that forks lead to.
func (p *Pattern) enter(s *stateSet, q int) {
	pending := []int{q}
	for len(pending) > 0 {
		q, pending = pending[len(pending)-1], pending[:len(pending)-1]
		if s.has[q] {
			continue
		}
		s.has[q] = true
		s.list = append(s.list, q)
		if q < len(p.states) && p.states[q].fork {
			pending = append(pending, p.states[q].other, p.states[q].next)
		}
	}
}

// Match reports whether the whole text matches. It fails only with the error of ctx.
func (p *Pattern) Match(ctx context.Context, text string) (bool, error) {
	if p.not != nil {
		matched, err := p.not.Match(ctx, text)
		return !matched && err == nil, err
	}
	if p.literal {
		return p.text == text, nil
	}
	matched := false
	err := p.scan(ctx, text, func(n int) bool {
		matched = n == len(text)
		return true
	})
	return matched, err
}

// prefix returns the length of the shortest or longest prefix that matches; -1 if none does.
func (p *Pattern) prefix(ctx context.Context, text string, longest bool) (int, error) {
	if p.not != nil || p.literal {
		if p.literal && strings.HasPrefix(text, p.text) {
			return len(p.text), nil
		}
		return -1, nil
	}
	found := -1
	err := p.scan(ctx, text, func(n int) bool {
		found = n
		return longest
	})
	return found, err
}

// pattern expands a word to a pattern, in which what is quoted is escaped.
func (s *Shell) pattern(ctx context.Context, word *syntax.Word) (string, error) {
	if word == nil {
		return "", nil
	}
	x := s.newExpansion(false)
	if err := x.word(ctx, word.Parts, false, true); err != nil {
		return "", err
	}
	return patternOf(x.cur), nil
}

// patternOf returns a field as a pattern.
func patternOf(field []piece) string {
	var b strings.Builder
	for _, p := range field {
		if p.quoted {
			writeQuoted(&b, p.text)
		} else {
			b.WriteString(p.text)
		}
	}
	return b.String()
}

func writeQuoted(b *strings.Builder, text string) {
	for i := range len(text) {
		if strings.IndexByte(`*?[]\+@!()|-^`, text[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
}

// compile compiles a pattern, and holds its memory.
func (s *Shell) compile(pattern string) (*Pattern, error) {
	if err := s.hold(len(pattern) * 2 * pieceBytes); err != nil {
		return nil, err
	}
	return CompilePattern(pattern), nil
}

// matches reports whether a text matches the pattern that a word expands to.
func (s *Shell) matches(ctx context.Context, word *syntax.Word, text string) (truth, error) {
	pattern, err := s.pattern(ctx, word)
	if err != nil {
		return truth{}, err
	}
	p, err := s.compile(pattern)
	if err != nil {
		return truth{}, err
	}
	matched, err := p.Match(ctx, text)
	if pattern == "*" {
		return known(matched), err
	}
	return unless(matched, true, text, pattern), err
}
