package servers

import (
	"errors"
	"fmt"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"go.yaml.in/yaml/v3"
)

// tree is a value of JSON whose texts may have expressions.
type tree struct {
	value *Value
	// scalar is the value of a leaf that is no text.
	scalar ref.Val
	keys   []string
	parts  []*tree
	isMap  bool
	isList bool
}

func (p *parser) tree(node *yaml.Node, depth int) (*tree, error) {
	if depth > maxDepth {
		return nil, errors.New("json is nested too deep")
	}
	switch node.Kind {
	case yaml.AliasNode:
		return p.tree(node.Alias, depth+1)
	case yaml.MappingNode:
		t := &tree{isMap: true}
		for i := 0; i+1 < len(node.Content); i += 2 {
			part, err := p.tree(node.Content[i+1], depth+1)
			if err != nil {
				return nil, in(node.Content[i].Value, err)
			}
			t.keys, t.parts = append(t.keys, node.Content[i].Value), append(t.parts, part)
		}
		return t, nil
	case yaml.SequenceNode:
		t := &tree{isList: true}
		for i, item := range node.Content {
			part, err := p.tree(item, depth+1)
			if err != nil {
				return nil, in(fmt.Sprintf("[%d]", i), err)
			}
			t.parts = append(t.parts, part)
		}
		return t, nil
	}
	if node.Tag == "!!str" {
		value, err := p.value(node, ofRequest)
		return &tree{value: value}, err
	}
	var scalar any
	if err := node.Decode(&scalar); err != nil {
		return nil, atLine(node, err)
	}
	return &tree{scalar: types.DefaultTypeAdapter.NativeToValue(scalar)}, nil
}

// append appends the tree as JSON.
func (t *tree) append(to []byte, in *Input, depth int) ([]byte, error) {
	var err error
	switch {
	case t.value != nil:
		v, err := t.value.Any(in)
		if err != nil {
			return nil, err
		}
		return appendJSON(to, v, depth)
	case t.isMap || t.isList:
		brackets := "[]"
		if t.isMap {
			brackets = "{}"
		}
		to = append(to, brackets[0])
		for i, part := range t.parts {
			if i > 0 {
				to = append(to, ',')
			}
			if t.isMap {
				to = append(appendText(to, t.keys[i]), ':')
			}
			if to, err = part.append(to, in, depth+1); err != nil {
				return nil, err
			}
		}
		return append(to, brackets[1]), nil
	}
	return appendJSON(to, t.scalar, depth)
}
