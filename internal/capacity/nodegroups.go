package capacity

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/scenario/nodepools"
	"minikcm.dev/minikcm/internal/scenario/spec"
	"minikcm.dev/minikcm/kubeletsim"
)

// NodeGroups are the groups of nodes that an autoscaler may enlarge, and how it chooses among them.
type NodeGroups struct {
	// Expander is random (the default), most-pods, least-waste, price or priority.
	Expander string
	Groups   []NodeGroup
}

// NodeGroup is a group of equal nodes.
type NodeGroup struct {
	spec.Pool `yaml:",inline"`
	// Like is the name of an existing node, in place of a description.
	Like string `yaml:"like"`
	// Max is the largest number of nodes, including the present ones.
	Max int `yaml:"max"`
	// Price is the price of a node, for the expander price. Priority is for the expander priority:
	// the highest wins.
	Price    float64 `yaml:"price"`
	Priority int     `yaml:"priority"`
}

// nodeGroupsFile is the document of a file.
type nodeGroupsFile struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct {
		Name string `yaml:"name"`
	} `yaml:"metadata"`
	Spec struct {
		Expander string      `yaml:"expander"`
		Groups   []NodeGroup `yaml:"groups"`
	} `yaml:"spec"`
}

// kindNodeGroups is the kind of a file of node groups.
const kindNodeGroups = "NodeGroups"

// expanders are the ways to choose a group.
var expanders = []string{"random", "most-pods", "least-waste", "price", "priority"}

// ReadNodeGroups reads a file of node groups. The error is an InputError.
func ReadNodeGroups(path string) (*NodeGroups, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, input("reading the node groups: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(file, spec.MaxNodePoolsBytes+1))
	if err != nil {
		return nil, input("reading the node groups: %w", err)
	}
	return ParseNodeGroups(path, data)
}

// ParseNodeGroups reads the node groups of data, which the errors call file. The error is an InputError.
func ParseNodeGroups(file string, data []byte) (*NodeGroups, error) {
	if len(data) > spec.MaxNodePoolsBytes {
		return nil, input("%s has more than %d bytes", file, spec.MaxNodePoolsBytes)
	}
	var all NodeGroups
	missing := fmt.Sprintf("there are no node groups in it: begin with apiVersion: %s and kind: %s", spec.APIVersion, kindNodeGroups)
	_, err := spec.Values(file, data, missing, func(c *spec.Checker, doc *nodeGroupsFile) {
		checkNodeGroups(c, doc)
		all.Expander = doc.Spec.Expander
		all.Groups = append(all.Groups, doc.Spec.Groups...)
	})
	if err != nil {
		return nil, InputError{err}
	}
	if all.Expander == "" {
		all.Expander = expanders[0]
	}
	return &all, nil
}

// SetExpander replaces the expander.
func (g *NodeGroups) SetExpander(name string) error {
	if !slices.Contains(expanders, name) {
		return input("the expander %q is not known; known are %s", name, strings.Join(expanders, ", "))
	}
	g.Expander = name
	return nil
}

func checkNodeGroups(c *spec.Checker, doc *nodeGroupsFile) {
	if doc.APIVersion != spec.APIVersion {
		c.Problem("apiVersion", "is %q, but must be %s", doc.APIVersion, spec.APIVersion)
	}
	if doc.Kind != kindNodeGroups {
		c.Problem("kind", "is %q, but must be %s", doc.Kind, kindNodeGroups)
	}
	if e := doc.Spec.Expander; e != "" && !slices.Contains(expanders, e) {
		c.Problem("spec.expander", "is %q; known are %s", e, strings.Join(expanders, ", "))
	}
	if len(doc.Spec.Groups) == 0 {
		c.Problem("spec.groups", "is empty: describe the groups")
	}
	known := map[string]bool{}
	for i := range doc.Spec.Groups {
		g, field := &doc.Spec.Groups[i], fmt.Sprintf("spec.groups[%d]", i)
		switch {
		case g.Name == "":
			c.Problem(field+".name", "is missing")
		case known[g.Name]:
			c.Problem(field+".name", "another group is called %s", g.Name)
		}
		known[g.Name] = true
		if g.Max < 1 || g.Max > maxAdded {
			c.Problem(field+".max", "is %d, but must be between 1 and %d", g.Max, maxAdded)
		}
		if g.Price < 0 {
			c.Problem(field+".price", "must not be negative")
		}
		if g.Like == "" {
			_, err := nodepools.Of(&g.Pool)
			c.Check(field, err)
		}
	}
}

// template returns the description of the i-th node that is added to a group.
func (g *NodeGroup) template(i int, existing []corev1.Node) (minikcm.NodeSpec, error) {
	if g.Like != "" {
		at := slices.IndexFunc(existing, func(n corev1.Node) bool { return n.Name == g.Like })
		if at < 0 {
			return minikcm.NodeSpec{}, input("node %s, which node group %s names, does not exist", g.Like, g.Name)
		}
		return kubeletsim.NodeSpecLike(&existing[at]), nil
	}
	pool, err := nodepools.Of(&g.Pool)
	if err != nil {
		return minikcm.NodeSpec{}, InputError{err}
	}
	template := pool.Node
	if len(pool.Zones) > 0 {
		template.Labels = maps.Clone(template.Labels)
		if template.Labels == nil {
			template.Labels = map[string]string{}
		}
		template.Labels[corev1.LabelTopologyZone] = pool.Zones[i%len(pool.Zones)]
	}
	return template, nil
}

// holds reports whether a node belongs to the group: by the label of its pool, by its name, or because it
// is the node named by Like.
func (g *NodeGroup) holds(n *corev1.Node) bool {
	return poolOf(n) == g.Name || numbered(n.Name) == g.Name || g.Like != "" && n.Name == g.Like
}
