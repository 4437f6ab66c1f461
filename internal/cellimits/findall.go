package cellimits

import (
	"io"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// findAll returns the matches of a pattern of so many instructions.
//
// To decide where a match ends, the matcher may read the whole rest of the string: x(.*y)? does
// so at each x of a string without a y, which takes 20 seconds for 20 kB. Strings for which
// that may exceed maxSteps are searched by a meter.
func findAll(re *regexp.Regexp, instructions int, args []ref.Val) ref.Val {
	n := -1
	if len(args) > 2 {
		limit, ok := args[2].(types.Int)
		if !ok {
			return types.MaybeNoSuchOverloadErr(args[2])
		}
		n = int(limit)
	}
	text := string(args[0].(types.String))
	if len(text)*len(text)*instructions <= maxSteps {
		return types.NewStringList(types.DefaultTypeAdapter, re.FindAllString(text, n))
	}
	m, err := newMeter(re, instructions, text)
	if err != nil {
		return types.WrapErr(err)
	}
	found, ok := m.findAll(n)
	if !ok {
		return types.NewErr("finding all matches in a string of %d bytes takes more than %d steps: shorten the string, or use a pattern that ends its matches earlier", len(text), maxSteps)
	}
	list := types.NewStringList(types.DefaultTypeAdapter, found)
	if m.steps <= (len(text)+1)*m.perByte {
		return list
	}
	return rescanned{list, m.steps}
}

// rescanned is a list of matches that took more steps than the string has.
type rescanned struct {
	traits.Lister
	steps int
}

// meter finds the matches of a pattern in a text, and counts the steps.
type meter struct {
	text  string
	first *regexp.Regexp
	// next matches one character, which decides whether ^ and \b match behind it, any number of
	// others, and the pattern as its first group.
	next *regexp.Regexp
	// perByte is the number of steps that reading a byte counts for.
	perByte int
	steps   int
}

// reading is how many instructions take as long as reading a character one by one.
const reading = 16

func newMeter(re *regexp.Regexp, instructions int, text string) (*meter, error) {
	// The pattern is printed from its tree, because \Q would quote the parenthesis behind it.
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil {
		return nil, err
	}
	next, err := regexp.Compile(`\A(?s:.)(?s:.*?)(` + tree.String() + `)`)
	if err != nil {
		return nil, err
	}
	return &meter{text: text, first: re, next: next, perByte: instructions + reading}, nil
}

// findAll returns what regexp.Regexp.FindAllString returns, or false if it takes too many steps.
func (m *meter) findAll(n int) (found []string, ok bool) {
	if n < 0 {
		n = len(m.text) + 1
	}
	at, last := 0, -1 // where the search goes on, and where the last match ended
	for len(found) < n && at <= len(m.text) {
		from, to, matched := m.find(at)
		if m.steps > maxSteps {
			return nil, false
		}
		if !matched {
			break
		}
		// An empty match directly behind the last one does not count.
		if to > at || from != last {
			found = append(found, m.text[from:to])
		}
		last = to
		if to > at {
			at = to
			continue
		}
		_, width := utf8.DecodeRuneInString(m.text[at:])
		at += max(width, 1)
	}
	return found, true
}

// find returns the bounds of the first match from the byte at on.
func (m *meter) find(at int) (from, to int, matched bool) {
	if at == 0 {
		found := m.first.FindReaderIndex(&meteredReader{m, 0})
		if found == nil {
			return 0, 0, false
		}
		return found[0], found[1], true
	}
	_, width := utf8.DecodeLastRuneInString(m.text[:at])
	found := m.next.FindReaderSubmatchIndex(&meteredReader{m, at - width})
	if found == nil {
		return 0, 0, false
	}
	return at - width + found[2], at - width + found[3], true
}

// meteredReader reads the characters of the text from the byte at on, until there are too many steps.
type meteredReader struct {
	*meter
	at int
}

// ReadRune implements io.RuneReader.
func (r *meteredReader) ReadRune() (rune, int, error) {
	if r.steps > maxSteps || r.at == len(r.text) {
		return 0, 0, io.EOF
	}
	character, width := utf8.DecodeRuneInString(r.text[r.at:])
	r.at += width
	r.steps += width * r.perByte
	return character, width, nil
}
