package ownership

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// sort is how a value is compared.
type sort int

const (
	unknown sort = iota // no plan: left to the library
	scalar              // of a basic kind
	moment              // Time and MicroTime: null when zero
	quantity
	opaque // compared as a whole: Duration, IntOrString, bytes
	structure
	list
	mapping
)

// node is the plan of one type in one place.
type node struct {
	sort sort
	// pointer reports that the value is behind a pointer; a nil pointer is null.
	pointer bool
	// atomic lists, maps and structures have one owner as a whole.
	atomic bool
	fields []field // of a structure, by name
	elem   *node   // of a list or a mapping
	set    bool    // a list's elements are identified by their values
	keys   []int   // the indices of the fields that identify a list's elements, by name
}

// field is one field of a structure.
type field struct {
	name      string // in JSON
	entry     string // in FieldsV1
	index     []int
	omitEmpty bool
	omitZero  bool
	node      *node
}

// planner makes plans and caches them.
type planner struct {
	mu    sync.Mutex
	nodes map[planKey]*node
	roots map[rootKey]*node
}

type planKey struct {
	of        reflect.Type
	marks     string
	isPointer bool
}

type rootKey struct {
	of      reflect.Type
	without string
}

// rootMetadata are the fields of an object's metadata whose ownership is not tracked.
var rootMetadata = []string{
	"name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation", "managedFields", "resourceVersion",
}

// object returns the plan of a whole object without some of its fields (those that the
// write cannot change).
func (p *planner) object(t reflect.Type, without []string) *node {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := rootKey{t, strings.Join(without, ",")}
	if n := p.roots[key]; n != nil {
		return n
	}
	root := p.plan(t, marks{}, false).without("apiVersion").without("kind")
	for _, name := range rootMetadata {
		root = root.without("metadata", name)
	}
	for _, path := range without {
		root = root.without(strings.Split(path, ".")...)
	}
	p.roots[key] = root
	return root
}

// without returns the plan of a structure without the field at a path.
func (n *node) without(path ...string) *node {
	rest := *n
	rest.fields = slices.Clone(n.fields)
	i := slices.IndexFunc(rest.fields, func(f field) bool { return f.name == path[0] })
	switch {
	case i < 0:
	case len(path) == 1:
		rest.fields = slices.Delete(rest.fields, i, i+1)
	default:
		rest.fields[i].node = rest.fields[i].node.without(path[1:]...)
	}
	return &rest
}

// plan returns the plan of a type at a place with marks. The caller holds mu.
func (p *planner) plan(t reflect.Type, m marks, isPointer bool) *node {
	if t.Kind() == reflect.Pointer {
		return p.plan(t.Elem(), m, true)
	}
	key := planKey{t, m.list + "/" + m.mapped + "/" + strings.Join(m.keys, ","), isPointer}
	if n := p.nodes[key]; n != nil {
		return n
	}
	n := &node{pointer: isPointer}
	p.nodes[key] = n
	n.sort = sortOf(t)
	switch n.sort {
	case structure:
		own := marksOf(t)
		n.atomic = m.mapped == atomic || m.mapped == "" && own.self.mapped == atomic
		p.addFields(n, t, own, nil)
		slices.SortFunc(n.fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
	case mapping:
		n.atomic = m.mapped == atomic
		n.elem = p.plan(t.Elem(), marks{}, false)
	case list:
		n.elem = p.plan(t.Elem(), marks{}, false)
		p.planList(n, m)
	}
	return n
}

func (p *planner) planList(n *node, m marks) {
	switch m.list {
	case listSet:
		n.set = true
		if n.elem.sort != scalar {
			n.sort = unknown
		}
	case listMap:
		keys := slices.Sorted(slices.Values(m.keys))
		for _, key := range keys {
			i := slices.IndexFunc(n.elem.fields, func(f field) bool { return f.name == key })
			if i < 0 {
				n.sort = unknown
				return
			}
			n.keys = append(n.keys, i)
		}
	default:
		n.atomic = true
	}
}

// addFields adds the fields of t, including inlined ones.
func (p *planner) addFields(n *node, t reflect.Type, own *typeMarks, path []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(slices.Clone(path), i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && (name == "" || strings.Contains(options, "inline")) {
			if f.Type.Kind() != reflect.Struct {
				n.sort = unknown
				return
			}
			p.addFields(n, f.Type, marksOf(f.Type), index)
			continue
		}
		if name == "-" || !f.IsExported() {
			continue
		}
		if name == "" {
			name = f.Name
		}
		n.fields = append(n.fields, field{
			name: name, entry: "f:" + name, index: index,
			omitEmpty: strings.Contains(options, "omitempty"), omitZero: strings.Contains(options, "omitzero"),
			node: p.plan(f.Type, marksOfField(own, name, f.Tag), false),
		})
	}
}

func sortOf(t reflect.Type) sort {
	switch t {
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		return moment
	case reflect.TypeFor[resource.Quantity]():
		return quantity
	case reflect.TypeFor[metav1.Duration](), reflect.TypeFor[intstr.IntOrString](), reflect.TypeFor[[]byte]():
		return opaque
	}
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		return scalar
	case reflect.Struct:
		if reflect.PointerTo(t).Implements(reflect.TypeFor[interface{ MarshalJSON() ([]byte, error) }]()) {
			return unknown
		}
		return structure
	case reflect.Slice:
		return list
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			return mapping
		}
	}
	return unknown
}
