package gateways

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/internal/network/routes"
)

// backend returns the backend that a reference of a route names. If it has no effect, the reason is kept for the route's status.
func (s *Snapshot) backend(c *compiled, r *Route, ref *Reference) routes.Backend {
	to := types.NamespacedName{Namespace: ptr.Deref(ref.Namespace, r.Namespace), Name: ref.Name}
	b := routes.Backend{Service: to, Port: ptr.Deref(ref.Port, 0), Weight: defaultWeight}
	problem := func(reason, format string, args ...any) routes.Backend {
		b.Invalid = fmt.Sprintf(format, args...)
		c.unresolved = [2]string{reason, b.Invalid}
		return b
	}
	if group, kind := ptr.Deref(ref.Group, ""), ptr.Deref(ref.Kind, serviceKind); group != "" || kind != serviceKind {
		return problem("InvalidKind", "backends of the kind %s are not supported", kind)
	}
	if !s.permitted(RouteKind, r.Namespace, "", serviceKind, to) {
		return problem(notPermitted, "no ReferenceGrant permits the reference to the Service %s", to)
	}
	service := s.Service(to)
	if service == nil {
		return problem("BackendNotFound", "the Service %s does not exist", to)
	}
	for i := range service.Spec.Ports {
		p := &service.Spec.Ports[i]
		if p.Port != b.Port {
			continue
		}
		if protocol := ptr.Deref(p.AppProtocol, ""); !slices.Contains([]string{"", "http", "kubernetes.io/h2c", "kubernetes.io/ws"}, protocol) {
			return problem("UnsupportedProtocol", "the protocol %s of port %d of the Service %s is not supported", protocol, p.Port, to)
		}
		return b
	}
	return problem("BackendNotFound", "the Service %s has no port %d", to, b.Port)
}

// filters reads filters.
func (s *Snapshot) filters(c *compiled, r *Route, given []Filter) routes.Filters {
	var f routes.Filters
	for i := range given {
		one := &given[i]
		switch {
		case one.RequestHeaderModifier != nil:
			f.Request = headers(one.RequestHeaderModifier)
		case one.ResponseHeaderModifier != nil:
			f.Response = headers(one.ResponseHeaderModifier)
		case one.RequestMirror != nil:
			mirror := routes.Mirror{Backend: s.backend(c, r, &one.RequestMirror.BackendRef), Part: 1, Of: 1}
			if percent := one.RequestMirror.Percent; percent != nil {
				mirror.Part, mirror.Of = uint64(max(*percent, 0)), hundred
			} else if part := one.RequestMirror.Fraction; part != nil {
				mirror.Part, mirror.Of = uint64(max(part.Numerator, 0)), uint64(max(ptr.Deref(part.Denominator, hundred), 1))
			}
			if mirror.Invalid == "" {
				f.Mirrors = append(f.Mirrors, mirror)
			}
		case one.RequestRedirect != nil:
			d := one.RequestRedirect
			f.Redirect = &routes.Redirect{
				Scheme: ptr.Deref(d.Scheme, ""), Host: ptr.Deref(d.Hostname, ""), Port: ptr.Deref(d.Port, 0), Path: pathChange(d.Path),
				Status: ptr.Deref(d.StatusCode, 302),
			}
		case one.URLRewrite != nil:
			f.Rewrite = &routes.Rewrite{Host: ptr.Deref(one.URLRewrite.Hostname, ""), Path: pathChange(one.URLRewrite.Path)}
		default:
			c.refuse("filters of the type %s are not supported", one.Type)
		}
	}
	return f
}

func headers(h *HeaderChanges) routes.Headers {
	changes := routes.Headers{Remove: h.Remove}
	for _, v := range h.Set {
		changes.Set = append(changes.Set, routes.Value{Name: v.Name, Value: v.Value})
	}
	for _, v := range h.Add {
		changes.Add = append(changes.Add, routes.Value{Name: v.Name, Value: v.Value})
	}
	return changes
}

func pathChange(p *PathModifier) *routes.PathChange {
	switch {
	case p == nil:
		return nil
	case p.Type == fullPathChange:
		return &routes.PathChange{To: ptr.Deref(p.ReplaceFullPath, "/")}
	}
	return &routes.PathChange{Prefix: true, To: ptr.Deref(p.ReplacePrefixMatch, "")}
}
