package writerecord

import (
	"reflect"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ring holds the newest capacity writes, oldest first. It grows by chunks, which are not copied.
type ring struct {
	capacity int
	total    int64 // of all writes that were added
	chunks   [][]kept
	bytes    int64 // estimated
	origins  map[origin]*origin
}

const (
	chunkSize = 1024
	// maxOrigins caps the origins that the ring knows. User agents come from outside.
	maxOrigins = 1024
)

// kept is a write as the ring holds it, in half of a Write's size.
type kept struct {
	revision   int64
	time       time.Time
	origin     *origin
	name       string
	uid        types.UID
	causes     []int64
	controller *Owner
	changes    []Change
}

// origin has the texts that the writes of one client to a resource in a namespace share.
type origin struct {
	actor, userAgent, verb string
	resource               metav1.GroupVersionResource
	subresource, namespace string
	kind                   string
	effect                 Effect
}

func (r *ring) count() int { return int(min(r.total, int64(r.capacity))) }

// forgotten returns how many writes were replaced by later ones.
func (r *ring) forgotten() int64 { return max(0, r.total-int64(r.capacity)) }

func (r *ring) at(i int) *kept {
	place := int((r.forgotten() + int64(i)) % int64(r.capacity))
	return &r.chunks[place/chunkSize][place%chunkSize]
}

func (r *ring) add(w *Write) {
	k := kept{w.Revision, w.Time, r.originOf(w), w.Name, w.UID, w.Causes, w.Controller, w.Changes}
	r.bytes += k.size()
	if r.count() == r.capacity {
		oldest := r.at(0)
		r.bytes -= oldest.size()
		*oldest = k
	} else {
		if r.total%chunkSize == 0 {
			r.chunks = append(r.chunks, nil)
		}
		last := &r.chunks[len(r.chunks)-1]
		*last = append(*last, k)
	}
	r.total++
}

func (r *ring) originOf(w *Write) *origin {
	o := origin{w.Actor, w.UserAgent, w.Verb, w.Resource, w.Subresource, w.Namespace, w.Kind, w.Effect}
	if known := r.origins[o]; known != nil {
		return known
	}
	if r.origins == nil || len(r.origins) == maxOrigins {
		r.origins = map[origin]*origin{}
	}
	o.namespace = strings.Clone(o.namespace) // it may be a part of the request's path
	r.origins[o] = &o
	return &o
}

func (k *kept) write() Write {
	o := k.origin
	return Write{
		Revision: k.revision, Time: k.time, Actor: o.actor, UserAgent: o.userAgent, Verb: o.verb, Resource: o.resource,
		Subresource: o.subresource, Kind: o.kind, Effect: o.effect, Namespace: o.namespace, Name: k.name, UID: k.uid,
		Causes: k.causes, Controller: k.controller, Changes: k.changes,
	}
}

// The sizes of the structs that a kept write consists of, without texts.
var (
	keptSize   = int64(reflect.TypeFor[kept]().Size())
	changeSize = int64(reflect.TypeFor[Change]().Size())
	ownerSize  = int64(reflect.TypeFor[Owner]().Size())
)

// size returns the bytes of memory of a write, without its origin, as if it shared no other text.
func (k *kept) size() int64 {
	n := keptSize + int64(len(k.name)+len(k.uid)) + 8*int64(len(k.causes))
	if k.controller != nil {
		n += ownerSize
	}
	for i := range k.changes {
		c := &k.changes[i]
		n += changeSize + int64(len(c.Path)+len(c.From)+len(c.To))
	}
	return n
}
