package nesting

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// TooLargeError reports a document whose aliases expand it to more than Max bytes.
type TooLargeError struct{ Max int }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("its aliases expand it to more than %d bytes", e.Max)
}

// YAML returns a *TooDeepError if the document in data is nested more than limit levels
// deep, and a *TooLargeError if its aliases expand it to more than size bytes. Both count an
// alias as the node that it refers to. Invalid YAML is left to the parser.
func YAML(data []byte, limit, size int) error {
	if !nests(data, limit) {
		return nil
	}
	var document yaml.Node
	if yaml.Unmarshal(data, &document) != nil {
		return nil
	}
	m := measure{known: map[*yaml.Node]extent{}, size: size}
	of := m.node(&document)
	switch {
	case of.depth-1 > limit: // the document is a node itself
		return &TooDeepError{limit}
	case of.bytes > size:
		return &TooLargeError{size}
	}
	return nil
}

// nests reports whether data may exceed the limits: only aliases expand a document, and
// each level of nesting takes a bracket, a dash or a colon.
func nests(data []byte, limit int) bool {
	if bytes.IndexByte(data, '*') >= 0 && bytes.IndexByte(data, '&') >= 0 {
		return true
	}
	levels := 0
	for _, c := range data {
		switch c {
		case '{', '[', '-', ':', '?':
			if levels++; levels > limit {
				return true
			}
		}
	}
	return false
}

// extent is the size of a node with its aliases expanded.
type extent struct{ depth, bytes int }

// measure measures nodes, and nodes with an anchor only once.
type measure struct {
	known map[*yaml.Node]extent
	size  int
}

// node returns the extent of a node. Sizes stop growing when they exceed the limit, so
// that they do not overflow.
func (m *measure) node(n *yaml.Node) extent {
	if n.Kind == yaml.AliasNode {
		// An anchor precedes its aliases. An alias within its own anchor is not yet known,
		// and invalid.
		return m.known[n.Alias]
	}
	of := extent{bytes: len(n.Value) + 1}
	for _, inner := range n.Content {
		in := m.node(inner)
		of.depth = max(of.depth, in.depth)
		of.bytes = min(of.bytes+in.bytes, m.size+1)
	}
	if n.Kind != yaml.ScalarNode {
		of.depth++
	}
	if n.Anchor != "" {
		m.known[n] = of
	}
	return of
}
