package difference

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Totals are the numbers of slices and of their endpoints, over all services, and of the slices
// that as many endpoints need.
type Totals struct{ Slices, Endpoints, Needed int }

// Records has the records of all services. It is safe for concurrent use.
type Records struct {
	most int

	mu       sync.Mutex
	services map[types.NamespacedName]*Record
	totals   Totals
}

// NewRecords returns empty records. most is the number of endpoints that a slice can have.
func NewRecords(most int) *Records {
	return &Records{most: most, services: map[types.NamespacedName]*Record{}}
}

// with calls f with the record of a service, and drops the record if nothing is left in it.
func (r *Records) with(service types.NamespacedName, f func(record *Record)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	record, ok := r.services[service]
	if !ok {
		record = NewRecord(r.most)
		r.services[service] = record
	}
	r.count(record, -1)
	f(record)
	r.count(record, 1)
	if record.Blank() {
		delete(r.services, service)
	}
}

func (r *Records) count(record *Record, sign int) {
	r.totals.Slices += sign * len(record.slices)
	for g := range record.filled {
		n := record.endpoints[g]
		r.totals.Endpoints += sign * n
		r.totals.Needed += sign * ((n + r.most - 1) / r.most)
	}
}

// Totals returns the totals.
func (r *Records) Totals() Totals {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.totals
}

// Touch marks a pod of the services as changed.
func (r *Records) Touch(services []types.NamespacedName, pod string) {
	for _, service := range services {
		r.with(service, func(record *Record) { record.Touch(pod) })
	}
}

// Forget makes the next reconcile of the service read everything.
func (r *Records) Forget(service types.NamespacedName) {
	r.with(service, (*Record).Forget)
}

// Set adds a slice of the service, or replaces its earlier state.
func (r *Records) Set(service types.NamespacedName, slice *discoveryv1.EndpointSlice) {
	r.with(service, func(record *Record) { record.Set(slice) })
}

// Unset removes a slice of the service.
func (r *Records) Unset(service types.NamespacedName, name string) {
	r.with(service, func(record *Record) { record.Unset(name) })
}

// Written records the version of a slice that a reconcile of the service has written.
func (r *Records) Written(service types.NamespacedName, slice *discoveryv1.EndpointSlice) {
	r.with(service, func(record *Record) { record.Written(slice) })
}

// Removed records that a reconcile of the service has deleted a slice.
func (r *Records) Removed(service types.NamespacedName, name string) {
	r.with(service, func(record *Record) { record.Removed(name) })
}

// Take returns the portion that a reconcile of the service reads, and the number of pods that its
// slices list.
func (r *Records) Take(service *corev1.Service, nodes int) (p Portion, pods int) {
	r.with(types.NamespacedName{Namespace: service.Namespace, Name: service.Name}, func(record *Record) {
		p, pods = record.Take(service, nodes), record.Pods()
	})
	return p, pods
}

// Return marks the portion of a failed reconcile of the service as changed again.
func (r *Records) Return(service types.NamespacedName, p Portion) {
	r.with(service, func(record *Record) { record.Return(p) })
}
