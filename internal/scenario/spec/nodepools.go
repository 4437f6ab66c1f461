package spec

import "fmt"

// KindNodePools is the kind of documents that only describe nodes.
const KindNodePools = "NodePools"

// MaxNodePoolsBytes is the budget of a file of node pools.
const MaxNodePoolsBytes = 1 << 20

// maxPools bounds the pools of a file.
const maxPools = 1000

// NodePools is a document that describes nodes.
type NodePools struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	// Metadata has no effect.
	Metadata Metadata      `yaml:"metadata"`
	Spec     NodePoolsSpec `yaml:"spec"`
}

// NodePoolsSpec is the nodes of NodePools.
type NodePoolsSpec struct {
	// Pools are groups of like nodes.
	Pools []Pool `yaml:"pools"`
}

// ParseNodePools reads the pools of a file's documents of kind NodePools. check, if not nil, checks
// a pool that has no problem of form; its checker names fields relative to the pool. Text such as
// ${NAME} is left as it is. The error is a Problems, or a *SyntaxError if data is no YAML.
func ParseNodePools(file string, data []byte, check func(c *Checker, p *Pool)) ([]Pool, error) {
	if len(data) > MaxNodePoolsBytes {
		return nil, Problems{{File: file, Message: fmt.Sprintf("has more than %d bytes", MaxNodePoolsBytes)}}
	}
	var all []Pool
	missing := fmt.Sprintf("there are no node pools in it: begin with apiVersion: %s and kind: %s", APIVersion, KindNodePools)
	_, err := Values(file, data, missing, func(c *Checker, doc *NodePools) {
		c.checkNodePools(doc, all, check)
		all = append(all, doc.Spec.Pools...)
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// checkNodePools checks a document, given the pools of those before it.
func (c *Checker) checkNodePools(doc *NodePools, before []Pool, check func(c *Checker, p *Pool)) {
	if doc.APIVersion != APIVersion {
		c.Problem("apiVersion", "is %q, but must be %s", doc.APIVersion, APIVersion)
	}
	if doc.Kind != KindNodePools {
		c.Problem("kind", "is %q, but must be %s", doc.Kind, KindNodePools)
	}
	const field = "spec.pools"
	pools := doc.Spec.Pools
	switch {
	case len(pools) == 0:
		c.Problem(field, "is empty: describe the nodes")
	case len(before)+len(pools) > maxPools:
		c.Problem(field, "there are more than %d pools", maxPools)
	}
	c.d.checkPools(pools, c.line, field)
	for i := range pools {
		for j := range before {
			if before[j].Name == pools[i].Name {
				c.Problem(fmt.Sprintf("%s[%d].name", field, i), "another document has a pool called %s", pools[i].Name)
			}
		}
		own := &Checker{d: c.d, line: c.line, field: fmt.Sprintf("%s[%d]", field, i), before: c.before}
		if check != nil && own.Sound() {
			check(own, &pools[i])
		}
	}
}
