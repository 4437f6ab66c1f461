package servers

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// resolved returns the node that an alias refers to, and any other itself.
func resolved(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

// value compiles a scalar, which becomes text or a value of JSON.
func (p *parser) value(node *yaml.Node, in scope) (*Value, error) { return p.wanted(node, in, aText) }

// wanted compiles a scalar whose expressions have results that a field takes.
func (p *parser) wanted(node *yaml.Node, in scope, w wants) (*Value, error) {
	node = resolved(node)
	if node.Kind != yaml.ScalarNode {
		return nil, atLine(node, errors.New("it is no text"))
	}
	return p.compiled(node.Value, in, w)
}

func (p *parser) compiled(text string, in scope, w wants) (*Value, error) {
	v, err := newValue(text, in)
	if err != nil {
		return nil, err
	}
	for _, piece := range v.pieces {
		if piece.expression != nil {
			p.expressions++
		}
	}
	if p.expressions > maxExpressions {
		return nil, fmt.Errorf("there are more than %d expressions", maxExpressions)
	}
	return v, w.check(v)
}

// optional is value for a field that may be missing.
func (p *parser) optional(node *yaml.Node, in scope) (*Value, error) {
	if node.IsZero() {
		return nil, nil
	}
	return p.value(node, in)
}

// checked is optional for a value that is checked if it has no expression, and whose expressions have wanted results.
func (p *parser) checked(node *yaml.Node, in scope, w wants, check func(text string) error) (*Value, error) {
	if node.IsZero() {
		return nil, nil
	}
	v, err := p.wanted(node, in, w)
	if err != nil {
		return nil, err
	}
	if text, ok := v.constant(); ok {
		return v, check(text)
	}
	return v, nil
}

// pairs calls do for each entry of a map, in the order of the text.
func pairs(node *yaml.Node, do func(name string, value *yaml.Node) error) error {
	node = resolved(node)
	if node.IsZero() {
		return nil
	}
	if node.Kind != yaml.MappingNode {
		return atLine(node, errors.New("it is no map"))
	}
	var names []string
	for i := 0; i+1 < len(node.Content); i += 2 {
		name := node.Content[i].Value
		if slices.Contains(names, name) {
			return atLine(node.Content[i], fmt.Errorf("%s occurs twice", name))
		}
		names = append(names, name)
		if err := do(name, node.Content[i+1]); err != nil {
			return in(name, err)
		}
	}
	return nil
}

// onlyKeys returns an error if a map has another key than these.
func onlyKeys(node *yaml.Node, keys ...string) error {
	return pairs(node, func(name string, _ *yaml.Node) error {
		if !slices.Contains(keys, name) {
			return errors.New("there is no such field")
		}
		return nil
	})
}

// headerName is the name of a header.
var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// headers reads the headers of an answer or a call: a map, in which a list gives a header several values, or an expression whose result
// is one.
func (p *parser) headers(node *yaml.Node) (all []header, err error) {
	if at := resolved(node); at.Kind == yaml.ScalarNode && strings.HasPrefix(at.Value, "${") {
		value, err := p.wanted(at, ofRequest, aMap)
		return []header{{value: value}}, err
	}
	err = pairs(node, func(name string, node *yaml.Node) error {
		if !headerName.MatchString(name) {
			return errors.New("it is no name of a header")
		}
		node = resolved(node)
		values := []*yaml.Node{node}
		if node.Kind == yaml.SequenceNode {
			values = node.Content
		}
		for _, v := range values {
			value, err := p.value(v, ofRequest)
			if err != nil {
				return err
			}
			all = append(all, header{name: name, value: value})
		}
		return nil
	})
	return all, err
}

// wanted reads texts that a request must have.
func wanted(node *yaml.Node, spelled func(name string) string) (all []header, err error) {
	err = pairs(node, func(name string, node *yaml.Node) error {
		if node = resolved(node); node.Kind != yaml.ScalarNode {
			return errors.New("it is no text")
		}
		all = append(all, header{name: spelled(name), wanted: node.Value})
		return nil
	})
	return all, err
}

// words reads a text or a list of texts.
func words(node *yaml.Node) ([]string, error) {
	node = resolved(node)
	switch {
	case node.IsZero():
		return nil, nil
	case node.Kind == yaml.ScalarNode:
		return []string{node.Value}, nil
	}
	var all []string
	if err := node.Decode(&all); err != nil {
		return nil, errors.New("it is neither a text nor a list of texts")
	}
	return all, nil
}

// plainYAML returns a value as one of JSON.
func plainYAML(value any) (any, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, errors.New("it is no value of JSON")
	}
	if len(data) > maxState {
		return nil, fmt.Errorf("it has more than %d bytes", maxState)
	}
	return fromJSON(string(data))
}

// allNeeds returns what the expressions of a route need.
func (r *Route) allNeeds() needs {
	var n needs
	add := func(values ...*Value) {
		for _, v := range values {
			if v != nil {
				n.add(v.needs)
			}
		}
	}
	add(r.condition, r.Delay, r.Log, r.Exit, r.status, r.body, r.Files, r.code, r.message)
	for _, h := range r.answers {
		add(h.value)
	}
	for _, a := range r.set {
		add(a.value)
	}
	for i := range r.Calls {
		add(r.Calls[i].URL, r.Calls[i].Body)
		for _, h := range r.Calls[i].headers {
			add(h.value)
		}
	}
	if r.Command != nil {
		add(r.Command.script)
		add(r.Command.words...)
	}
	if r.json != nil {
		r.json.each(func(v *Value) { add(v) })
	}
	return n
}

// each calls do for the values of a tree.
func (t *tree) each(do func(*Value)) {
	if t.value != nil {
		do(t.value)
	}
	for _, part := range t.parts {
		part.each(do)
	}
}
