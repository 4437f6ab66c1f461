package comparison

import (
	"cmp"
	"maps"
	"slices"
)

// Side is one of the two clusters.
type Side int

// The sides.
const (
	Here Side = iota
	There
)

const (
	// maxNames caps the names in each list of a Kind, and maxFields the fields of an object.
	maxNames  = 100
	maxFields = 20
)

// Key identifies an object in both clusters.
type Key struct{ Group, Kind, Namespace, Name string }

// Kind compares the objects of a kind. Its lists have the first names only; the counts cover all objects.
type Kind struct {
	Group string `json:"group,omitempty"`
	Kind  string `json:"kind"`
	// Here and There count the objects of the sides, Both the objects that are on both, and
	// Differ the objects that are on both and differ.
	Here   int `json:"here"`
	There  int `json:"there"`
	Both   int `json:"both"`
	Differ int `json:"differ"`
	// OnlyHere and OnlyThere are objects that one side has, as NAMESPACE/NAME or NAME.
	OnlyHere  []string `json:"onlyHere,omitempty"`
	OnlyThere []string `json:"onlyThere,omitempty"`
	Objects   []Object `json:"objects,omitempty"`
}

// Object is an object that is on both sides and differs.
type Object struct {
	Name   string  `json:"name"`
	Fields []Field `json:"fields"`
	// More counts the further fields that differ.
	More int `json:"more,omitempty"`
}

// Field is a field that differs. Here and There are JSON; empty for a side that does not set it.
type Field struct {
	Path  string `json:"path"`
	Here  string `json:"here,omitempty"`
	There string `json:"there,omitempty"`
}

// Counts are the numbers of nodes and pods of one side.
type Counts struct {
	Nodes int `json:"nodes"`
	Ready int `json:"nodesReady"`
	// Pods counts the pods by status.phase.
	Pods map[string]int `json:"pods"`
}

// Comparison holds the objects of both sides. The zero value has none. It is not safe for
// concurrent use.
type Comparison struct {
	pairs  map[Key]*pair
	kinds  map[kindKey]*kindState
	counts [2]Counts
}

type kindKey struct{ group, kind string }

// pair is an object of both sides, without the fields that always differ.
type pair struct {
	objects [2]map[string]any
	fields  []Field
	more    int
}

// kindState holds the objects of a kind: their number on each side, the objects on one side
// only, and the ones that differ.
type kindState struct {
	count  [2]int
	only   [2]map[string]bool
	differ map[string]*pair
}

// Set sets a side's object; nil removes it. It keeps no part of the object.
func (c *Comparison) Set(side Side, key Key, object map[string]any) {
	if c.pairs == nil {
		c.pairs, c.kinds = map[Key]*pair{}, map[kindKey]*kindState{}
		c.counts = [2]Counts{{Pods: map[string]int{}}, {Pods: map[string]int{}}}
	}
	p := c.pairs[key]
	if p == nil {
		p = &pair{}
		c.pairs[key] = p
	}
	c.count(side, key, p.objects[side], -1)
	p.objects[side] = Lasting(object)
	c.count(side, key, p.objects[side], 1)
	p.fields, p.more = nil, 0
	if p.objects[Here] != nil && p.objects[There] != nil {
		p.fields, p.more = differences(p.objects[Here], p.objects[There])
	}
	c.sort(key, p)
	if p.objects[Here] == nil && p.objects[There] == nil {
		delete(c.pairs, key)
	}
}

// count adds n to the counts that an object is in.
func (c *Comparison) count(side Side, key Key, object map[string]any, n int) {
	if object == nil {
		return
	}
	c.kind(key).count[side] += n
	counts := &c.counts[side]
	switch {
	case key.Group != "":
	case key.Kind == "Node":
		counts.Nodes += n
		if isReady(object) {
			counts.Ready += n
		}
	case key.Kind == "Pod":
		counts.Pods[phaseOf(object)] += n
	}
}

func (c *Comparison) kind(key Key) *kindState {
	k := c.kinds[kindKey{key.Group, key.Kind}]
	if k == nil {
		k = &kindState{only: [2]map[string]bool{{}, {}}, differ: map[string]*pair{}}
		c.kinds[kindKey{key.Group, key.Kind}] = k
	}
	return k
}

// sort puts an object into the right set of its kind: only on one side, or on both and different.
func (c *Comparison) sort(key Key, p *pair) {
	k, name := c.kind(key), key.name()
	delete(k.only[Here], name)
	delete(k.only[There], name)
	delete(k.differ, name)
	here, there := p.objects[Here] != nil, p.objects[There] != nil
	switch {
	case here && there && len(p.fields) > 0:
		k.differ[name] = p
	case here && !there:
		k.only[Here][name] = true
	case there && !here:
		k.only[There][name] = true
	}
}

func (k Key) name() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}

// Counts returns the counts of a side.
func (c *Comparison) Counts(side Side) Counts {
	counts := c.counts[side]
	counts.Pods = maps.Clone(counts.Pods)
	maps.DeleteFunc(counts.Pods, func(_ string, n int) bool { return n == 0 })
	if counts.Pods == nil {
		counts.Pods = map[string]int{}
	}
	return counts
}

// Kinds returns all kinds of which there are objects: those with differences first.
func (c *Comparison) Kinds() []Kind {
	shown := []Kind{}
	for key, k := range c.kinds {
		if k.count[Here]+k.count[There] == 0 {
			continue
		}
		one := Kind{
			Group: key.group, Kind: key.kind, Here: k.count[Here], There: k.count[There], Both: k.count[Here] - len(k.only[Here]), Differ: len(k.differ),
			OnlyHere: first(k.only[Here]), OnlyThere: first(k.only[There]),
		}
		for _, name := range first(k.differ) {
			p := k.differ[name]
			one.Objects = append(one.Objects, Object{Name: name, Fields: p.fields, More: p.more})
		}
		shown = append(shown, one)
	}
	slices.SortFunc(shown, func(a, b Kind) int {
		return cmp.Or(cmp.Compare(same(a), same(b)), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Group, b.Group))
	})
	return shown
}

// same returns 1 for a kind without differences, which are sorted last.
func same(k Kind) int {
	if k.Differ == 0 && len(k.OnlyHere) == 0 && len(k.OnlyThere) == 0 {
		return 1
	}
	return 0
}

// first returns the first keys of a map, sorted.
func first[V any](of map[string]V) []string {
	names := slices.Sorted(maps.Keys(of))
	return names[:min(len(names), maxNames)]
}
