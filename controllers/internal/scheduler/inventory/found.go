package inventory

import (
	"encoding/binary"
	"maps"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

// maxAnswers caps the answers that are kept, which together are some tens of MB.
const maxAnswers = 1 << 15

// found keeps the answers of searches until something changes that they depend on.
type found struct {
	byRequest map[string]*answers
	n         int
	// uses counts the searches, to find the request that was least recently used.
	uses uint64
}

// answers holds the answers for equal requests, by node.
type answers struct {
	byNode map[string]answer
	used   uint64
}

// answer is the outcome of a search: results, or the reason why there are none.
type answer struct {
	node    *corev1.Node
	results []resourcev1.AllocationResult
	why     string
}

// Request identifies the request of a list of claims: equal requests have equal results, except for the
// claims that errors name.
type Request string

// RequestOf returns the request of claims.
func RequestOf(claims []*resourcev1.ResourceClaim) (Request, error) {
	var all []byte
	for _, claim := range claims {
		spec, err := claim.Spec.Marshal()
		if err != nil {
			return "", err
		}
		all = append(binary.AppendUvarint(all, uint64(len(spec))), spec...)
	}
	return Request(all), nil
}

// Known returns the answer of the last search with an equal request on a node, if it would be the same again:
// results, or the reason why there are none. The results are read-only.
func (i *Inventory) Known(request Request, node *corev1.Node) (results []resourcev1.AllocationResult, why string, ok bool) {
	i.found.uses++
	of := i.found.byRequest[string(request)]
	if of == nil {
		return nil, "", false
	}
	of.used = i.found.uses
	a, ok := of.byNode[node.Name]
	if !ok || a.node != node && !maps.Equal(a.node.Labels, node.Labels) {
		return nil, "", false
	}
	if a.node != node {
		a.node = node
		of.byNode[node.Name] = a
	}
	return a.results, a.why, true
}

// Keep keeps the answer of a search. Results with the ID of a share are not kept: each share has its own.
func (i *Inventory) Keep(request Request, node *corev1.Node, results []resourcev1.AllocationResult, why string) {
	for k := range results {
		for r := range results[k].Devices.Results {
			if results[k].Devices.Results[r].ShareID != nil {
				return
			}
		}
	}
	f := &i.found
	of := f.byRequest[string(request)]
	if of == nil {
		of = &answers{byNode: map[string]answer{}}
		f.byRequest[string(request)] = of
	}
	of.used = f.uses
	if _, has := of.byNode[node.Name]; !has {
		f.makeRoom()
		f.n++
	}
	of.byNode[node.Name] = answer{node, results, why}
}

// makeRoom drops the answers for the least recently used request if there are too many.
func (f *found) makeRoom() {
	if f.n < maxAnswers {
		return
	}
	var oldest string
	var least *answers
	for request, of := range f.byRequest {
		if least == nil || of.used < least.used {
			oldest, least = request, of
		}
	}
	f.n -= len(least.byNode)
	clear(least.byNode)
	if len(f.byRequest) > 1 {
		delete(f.byRequest, oldest)
	}
}

func (f *found) clear() { f.byRequest, f.n = map[string]*answers{}, 0 }

// forgetPool drops the answers that depend on the slices or the allocations of a pool.
func (i *Inventory) forgetPool(id poolID) {
	for _, slice := range i.pools[id] {
		node := nodeOf(slice)
		if node == "" {
			i.found.clear()
			return
		}
		for _, of := range i.found.byRequest {
			if _, has := of.byNode[node]; has {
				delete(of.byNode, node)
				i.found.n--
			}
		}
	}
}

// ClassesChanged drops all answers: DeviceClasses have selectors and configurations.
func (i *Inventory) ClassesChanged() { i.found.clear() }
