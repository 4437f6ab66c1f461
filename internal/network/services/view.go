package services

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// View is a Table as it was at an earlier time. It holds what has changed since, and so costs nothing for all that has not.
type View struct {
	now *Table
	// old has the Services that have changed since, as they were; behind are their keys.
	old    Table
	behind map[Key]bool
}

// NewView returns a view of a Table as it is. Retain must be called before each later change.
func NewView(of *Table) *View { return &View{now: of, behind: map[Key]bool{}} }

// Clone returns another view of the same time.
func (v *View) Clone() *View {
	c := NewView(v.now)
	for key := range v.behind {
		c.keep(key, v.old.services[key])
	}
	return c
}

// Retain keeps a Service and its endpoints as they are in the Table, before they change.
func (v *View) Retain(key Key) { v.keep(key, v.now.services[key]) }

func (v *View) keep(key Key, e *entry) {
	if v.behind[key] {
		return
	}
	v.behind[key] = true
	if e == nil {
		return
	}
	if e.service != nil {
		v.old.SetService(e.service)
	}
	for _, s := range e.slices {
		v.old.SetSlice(s)
	}
}

// Behind reports whether a Service, or its endpoints, have changed since; a nil View is not behind.
func (v *View) Behind(key Key) bool { return v != nil && v.behind[key] }

// at returns the port of a Service that is reached at a socket.
func (v *View) at(s socket) *Frontend {
	list := slices.DeleteFunc(slices.Clone(v.now.frontends[s]), func(f *Frontend) bool { return v.behind[f.Key()] })
	if list = append(list, v.old.frontends[s]...); len(list) > 0 {
		return slices.MinFunc(list, byName)
	}
	return nil
}

// Rules are the Services as a node knows them: a Table, or a View of one.
type Rules struct {
	*Table
	// View, if not nil, is what the node knows of the Table.
	View *View
}

// Find is Table.Find.
func (r Rules) Find(address netip.Addr, port int32, protocol corev1.Protocol) *Frontend {
	if r.View == nil {
		return r.Table.Find(address, port, protocol)
	}
	return r.View.at(socket{address.Unmap(), port, protocol})
}

// FindNodePort is Table.FindNodePort.
func (r Rules) FindNodePort(ipv6 bool, port int32, protocol corev1.Protocol) *Frontend {
	if r.View == nil {
		return r.Table.FindNodePort(ipv6, port, protocol)
	}
	return r.View.at(socket{anyAddress(ipv6), port, protocol})
}

// Endpoints is Table.Endpoints.
func (r Rules) Endpoints(f *Frontend) []Endpoint {
	if r.View.Behind(f.Key()) {
		return r.View.old.Endpoints(f)
	}
	return r.Table.Endpoints(f)
}

// Owner is Table.Owner.
func (r Rules) Owner(address netip.Addr) (owner Key, ok bool) {
	if r.View == nil {
		return r.Table.Owner(address)
	}
	list := slices.DeleteFunc(slices.Clone(r.addresses[address.Unmap()]), r.View.Behind)
	return first(append(list, r.View.old.addresses[address.Unmap()]...))
}
