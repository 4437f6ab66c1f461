package servers

import (
	"fmt"
	"strings"
)

// pattern is the path of a route: literal segments, {name} for one segment, and * at the end for any rest.
type pattern struct {
	segments []segment
	// open means that anything may follow, which begins with rest.
	open bool
	rest string
}

type segment struct {
	text  string
	isVar bool
}

func parsePattern(text string) (*pattern, error) {
	if text == "*" {
		return &pattern{open: true}, nil
	}
	if !strings.HasPrefix(text, "/") {
		return nil, fmt.Errorf("%q is no path such as /, /api/* or /users/{id}", text)
	}
	p := &pattern{}
	text, p.open = strings.CutSuffix(text, "*")
	parts := strings.Split(text, "/")[1:]
	for i, part := range parts {
		if p.open && i == len(parts)-1 {
			p.rest = part
			break
		}
		s := segment{text: part}
		if name, ok := strings.CutPrefix(part, "{"); ok {
			if s.text, ok = strings.CutSuffix(name, "}"); !ok || s.text == "" {
				return nil, fmt.Errorf("%q in the path is no variable such as {id}", part)
			}
			s.isVar = true
		}
		if strings.ContainsAny(s.text, "{}*") {
			return nil, fmt.Errorf("%q in the path is neither a text nor a variable such as {id}; * may only end the path", part)
		}
		p.segments = append(p.segments, s)
	}
	return p, nil
}

// match returns the variables of a path; not ok if the path is another. A nil pattern matches every path.
func (p *pattern) match(path string) (vars map[string]string, ok bool) {
	if p == nil {
		return nil, true
	}
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	switch {
	case p.open && len(p.segments) == 0:
		return nil, strings.HasPrefix(strings.TrimPrefix(path, "/"), p.rest)
	case len(parts) < len(p.segments), !p.open && len(parts) > len(p.segments):
		return nil, false
	}
	for i, s := range p.segments {
		switch {
		case s.isVar && parts[i] != "":
			if vars == nil {
				vars = map[string]string{}
			}
			vars[s.text] = parts[i]
		case s.isVar || s.text != parts[i]:
			return nil, false
		}
	}
	return vars, !p.open || len(parts) > len(p.segments) && strings.HasPrefix(strings.Join(parts[len(p.segments):], "/"), p.rest)
}

// matches reports whether a text is another, or begins with it if that ends with *.
func matches(wanted, text string) bool {
	if begin, ok := strings.CutSuffix(wanted, "*"); ok {
		return strings.HasPrefix(text, begin)
	}
	return wanted == text
}
