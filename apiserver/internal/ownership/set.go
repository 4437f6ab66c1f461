package ownership

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// set is a set of fields, nested as in FieldsV1: entries by name.
type set []entry

// entry is a field that is in the set, or that contains fields in the set.
type entry struct {
	name string // as FieldsV1 spells it: "f:spec", `k:{"name":"main"}`, `v:"x"`
	in   bool
	sub  set
}

func (e *entry) isEmpty() bool { return !e.in && len(e.sub) == 0 }

// union returns the union of a and b. The result may share memory with both.
func union(a, b set) set {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	out := make(set, 0, max(len(a), len(b)))
	for len(a) > 0 && len(b) > 0 {
		switch order := strings.Compare(a[0].name, b[0].name); {
		case order < 0:
			out, a = append(out, a[0]), a[1:]
		case order > 0:
			out, b = append(out, b[0]), b[1:]
		default:
			out = append(out, entry{a[0].name, a[0].in || b[0].in, union(a[0].sub, b[0].sub)})
			a, b = a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// without returns the entries of a that are not in b; same reports that the result is a
// itself.
func without(a, b set) (out set, same bool) {
	same = true
	for i := range a {
		e := a[i]
		for len(b) > 0 && b[0].name < e.name {
			b = b[1:]
		}
		if len(b) > 0 && b[0].name == e.name {
			sub, sameSub := without(e.sub, b[0].sub)
			if e.in && b[0].in || !sameSub {
				if same {
					out, same = append(out, a[:i]...), false
				}
				e = entry{e.name, e.in && !b[0].in, sub}
			}
		}
		if !same && !e.isEmpty() {
			out = append(out, e)
		}
	}
	if same {
		return a, true
	}
	return out, false
}

// appendJSON appends the set as FieldsV1.
func (s set) appendJSON(out []byte, self bool) []byte {
	out = append(out, '{')
	if self && len(s) > 0 {
		out = append(out, `".":{}`...)
	}
	for i := range s {
		if i > 0 || self {
			out = append(out, ',')
		}
		out = appendQuoted(out, s[i].name)
		out = append(out, ':')
		out = s[i].sub.appendJSON(out, s[i].in)
	}
	return append(out, '}')
}

func appendQuoted(out []byte, s string) []byte {
	const hex = "0123456789abcdef"
	out = append(out, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c < 0x20:
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}

// errForm is returned for FieldsV1 that this package would not write: escapes other
// than of quotes and backslashes, or non-ASCII characters.
var errForm = errors.New("managed fields of an unfamiliar form")

// parseSet parses FieldsV1.
func parseSet(data []byte) (set, error) {
	p := parser{data: data}
	e, err := p.object(0)
	if err != nil || p.at != len(data) {
		return nil, fmt.Errorf("reading FieldsV1: %w", errForm)
	}
	return e.sub, nil
}

type parser struct {
	data []byte
	at   int
}

const maxNesting = 64

func (p *parser) object(depth int) (e entry, err error) {
	if depth > maxNesting || !p.skip('{') {
		return e, errForm
	}
	if p.skip('}') {
		e.in = true
		return e, nil
	}
	sorted := true
	for {
		name, err := p.quoted()
		if err != nil || !p.skip(':') {
			return e, errForm
		}
		child, err := p.object(depth + 1)
		switch {
		case err != nil:
			return e, err
		case name == ".":
			e.in = true
		default:
			child.name = name
			sorted = sorted && (len(e.sub) == 0 || e.sub[len(e.sub)-1].name < name)
			e.sub = append(e.sub, child)
		}
		if p.skip('}') {
			if !sorted {
				slices.SortStableFunc(e.sub, func(a, b entry) int { return strings.Compare(a.name, b.name) })
				for i := 1; i < len(e.sub); i++ {
					if e.sub[i].name == e.sub[i-1].name {
						return e, errForm // duplicate names are left to the library
					}
				}
			}
			return e, nil
		}
		if !p.skip(',') {
			return e, errForm
		}
	}
}

func (p *parser) skip(c byte) bool {
	if p.at < len(p.data) && p.data[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *parser) quoted() (string, error) {
	if !p.skip('"') {
		return "", errForm
	}
	start, escaped := p.at, false
	for ; p.at < len(p.data); p.at++ {
		switch c := p.data[p.at]; {
		case c == '\\':
			if p.at++; p.at >= len(p.data) || p.data[p.at] != '"' && p.data[p.at] != '\\' {
				return "", errForm
			}
			escaped = true
		case c == '"':
			raw := p.data[start:p.at]
			p.at++
			if escaped {
				return unescape(raw), nil
			}
			return string(raw), nil
		case c < 0x20 || c >= utf8.RuneSelf:
			return "", errForm
		}
	}
	return "", errForm
}

func unescape(raw []byte) string {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] == '\\' {
			i++
		}
		out = append(out, raw[i])
	}
	return string(out)
}
