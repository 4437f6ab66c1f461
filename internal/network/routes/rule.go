package routes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Request has the parts of a request that rules compare.
type Request struct {
	// Host is the name or address in the Host header: see HostOf.
	Host string
	// Path is the decoded path.
	Path string
}

// PathType says how a path is compared.
type PathType string

// The types of paths.
const (
	// Exact: the whole path is equal.
	Exact PathType = "Exact"
	// Prefix: the path begins with these elements.
	Prefix PathType = "Prefix"
)

// Rule sends the requests that it matches to backends.
type Rule struct {
	// Object has the rule, and Created is when it was created.
	Kind    string
	Object  types.NamespacedName
	Created time.Time
	// Index is the place of the rule in its object.
	Index int
	// Host is the host of the rule; empty: any.
	Host string
	// Path is compared as Type says.
	Path string
	Type PathType
	// Default means that the rule is for the requests that no other one matches.
	Default bool
	Backend Backend
}

// String names the rule and says what it matches.
func (r *Rule) String() string {
	text := fmt.Sprintf("%s %s", r.Kind, r.Object)
	if r.Default {
		return text + ", its default backend"
	}
	host := r.Host
	if host == "" {
		host = "any host"
	}
	return fmt.Sprintf("%s, %s %s (%s)", text, host, r.Path, r.Type)
}

// Backend is where requests are sent.
type Backend struct {
	// Service is the Service, and Port the number of its port, unless it is given by PortName.
	Service  types.NamespacedName
	Port     int32
	PortName string
	// Invalid says why there is none.
	Invalid string
}

// String names the Service and its port.
func (b *Backend) String() string {
	if b.PortName != "" {
		return fmt.Sprintf("%s:%s", b.Service, b.PortName)
	}
	return fmt.Sprintf("%s:%d", b.Service, b.Port)
}

// before orders the rules that match the same path: the oldest one first, then by name.
func before(a, b *Rule) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Object.String(), b.Object.String()), cmp.Compare(a.Index, b.Index))
}

// paths are the rules of one host.
type paths struct {
	// exact has the rules by their paths, and prefix by their elements. Each list is in the order of before.
	exact, prefix map[string][]*Rule
}

// elements returns a path without slashes at its end: its elements are equal exactly if it is.
func elements(path string) string { return strings.TrimRight(path, "/") }

func (p *paths) at(r *Rule) (of *map[string][]*Rule, key string) {
	if r.Type == Exact {
		return &p.exact, r.Path
	}
	return &p.prefix, elements(r.Path)
}

func (p *paths) add(r *Rule) {
	of, key := p.at(r)
	if *of == nil {
		*of = map[string][]*Rule{}
	}
	list := (*of)[key]
	i, _ := slices.BinarySearchFunc(list, r, before)
	(*of)[key] = slices.Insert(list, i, r)
}

func (p *paths) remove(r *Rule) {
	of, key := p.at(r)
	list := slices.DeleteFunc((*of)[key], func(other *Rule) bool { return other == r })
	if len(list) > 0 {
		(*of)[key] = list
	} else {
		delete(*of, key)
	}
}

func (p *paths) empty() bool { return len(p.exact) == 0 && len(p.prefix) == 0 }

// find returns the rule for a request: of an exact path, or of the longest prefix. Nil: none matches.
func (p *paths) find(r *Request) *Rule {
	if list := p.exact[r.Path]; len(list) > 0 {
		return list[0]
	}
	for prefix := elements(r.Path); ; {
		if list := p.prefix[prefix]; len(list) > 0 {
			return list[0]
		}
		cut := strings.LastIndexByte(prefix, '/')
		if cut < 0 {
			return nil
		}
		prefix = prefix[:cut]
	}
}
