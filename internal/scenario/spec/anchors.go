package spec

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// Aliases may expand a document by the factor maxGrowth, and any document to maxExpanded
// nodes.
const (
	maxGrowth   = 10
	maxExpanded = 1_000_000
)

// anchors checks the aliases of a parsed document: an alias may refer to a node that contains it,
// or expand to far too much.
type anchors struct {
	d *decoder
	// sizes are the numbers of nodes in the subtrees that are done; open are the subtrees
	// that are being walked.
	sizes map[*yaml.Node]int
	open  map[*yaml.Node]bool
	// written is the number of nodes in the text.
	written int
	wrong   bool
}

// plain replaces merge keys (<<), and reports whether the document can be read.
func (d *decoder) plain(document *yaml.Node) bool {
	a := &anchors{d: d, sizes: map[*yaml.Node]int{}, open: map[*yaml.Node]bool{}}
	if size := a.size(document); !a.wrong && size > maxExpanded && size/maxGrowth > a.written {
		d.problem(document.Line, "", "its aliases stand for too much: %d values, of which %d are written", size, a.written)
		return false
	}
	return !a.wrong
}

// size returns the number of nodes after the aliases are expanded.
func (a *anchors) size(node *yaml.Node) int {
	if size, known := a.sizes[node]; known {
		return size
	}
	if node.Kind == yaml.AliasNode {
		if a.open[node.Alias] {
			if !a.wrong {
				a.d.problem(node.Line, "", "*%s stands for what it is a part of", node.Value)
			}
			a.wrong = true
			return 1
		}
		return a.size(node.Alias)
	}
	a.open[node] = true
	a.written++
	size := 1
	for _, child := range node.Content {
		size = min(size+a.size(child), 1<<40)
	}
	delete(a.open, node)
	if node.Kind == yaml.MappingNode && !a.wrong {
		a.merge(node)
	}
	a.sizes[node] = size
	return size
}

// merge replaces the merge keys of a mapping by the fields of the mappings that they name. The
// mapping's own fields take precedence (https://yaml.org/type/merge.html).
func (a *anchors) merge(node *yaml.Node) {
	var own, merged []*yaml.Node
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if key.ShortTag() == "!!merge" {
			merged = append(merged, a.sources(key, value)...)
		} else {
			own = append(own, key, value)
		}
	}
	for _, source := range merged {
		for i := 0; i+1 < len(source.Content); i += 2 {
			if key := source.Content[i]; !hasKey(own, key.Value) {
				own = append(own, key, source.Content[i+1])
			}
		}
	}
	node.Content = own
}

func hasKey(content []*yaml.Node, name string) bool {
	for i := 0; i < len(content); i += 2 {
		if content[i].Value == name {
			return true
		}
	}
	return false
}

// sources are the mappings that a merge key names.
func (a *anchors) sources(key, value *yaml.Node) []*yaml.Node {
	named := []*yaml.Node{value}
	if target := aliased(value); target.Kind == yaml.SequenceNode {
		named = slices.Clone(target.Content)
	}
	for i := range named {
		if named[i] = aliased(named[i]); named[i].Kind != yaml.MappingNode {
			a.d.problem(key.Line, "<<", "found %s, wanted a mapping whose fields are put here, or a list of those", found(named[i]))
			a.wrong = true
			return nil
		}
	}
	return named
}

func aliased(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}
