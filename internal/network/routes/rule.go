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
	// Method, Header and Query are compared by rules of HTTPRoutes. Names of headers are in their canonical form.
	Method        string
	Header, Query map[string][]string
	// Port is the port of the router.
	Port int32
	// ServerName is the host that the client has named in the handshake of TLS; empty: there was none, or it named none.
	ServerName string
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
	// Method, Headers and Query have to match, too.
	Method         string
	Headers, Query []Value
	// Default means that the rule is for the requests that no other one matches.
	Default bool
	Filters Filters
	// Backends share the requests by their weights.
	Backends []Backend
	// Timeout bounds the time until a request is answered, and BackendTimeout each attempt to get an answer of a backend; 0: nothing does.
	Timeout, BackendTimeout time.Duration
	// Retry says what is tried again; nil: nothing is.
	Retry *Retry
}

// Retry says that requests without an answer, and those with one of the statuses, are tried again.
type Retry struct {
	Statuses []int
	Attempts int
	// Backoff is the time before each further attempt.
	Backoff time.Duration
}

// Value is a name with a value. A header's name is in its canonical form.
type Value struct{ Name, Value string }

// matches reports whether the rule matches a request of its host and path.
func (r *Rule) matches(q *Request) bool {
	return (r.Method == "" || r.Method == q.Method) && contains(q.Header, r.Headers) && contains(q.Query, r.Query)
}

// contains reports whether each of the names has its value as the first one.
func contains(given map[string][]string, wanted []Value) bool {
	for _, w := range wanted {
		if values := given[w.Name]; len(values) == 0 || values[0] != w.Value {
			return false
		}
	}
	return true
}

// pick returns the backend for a random number; nil if none has a weight.
func (r *Rule) pick(random uint64) *Backend {
	total := uint64(0)
	for i := range r.Backends {
		total += uint64(r.Backends[i].Weight)
	}
	if total == 0 {
		return nil
	}
	// The high bits are spread more evenly than the low ones.
	at := (random >> 32) % total
	for i := range r.Backends {
		if weight := uint64(r.Backends[i].Weight); at >= weight {
			at -= weight
		} else {
			return &r.Backends[i]
		}
	}
	return nil
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
	text = fmt.Sprintf("%s, %s %s (%s)", text, host, r.Path, r.Type)
	if r.Method != "" {
		text += ", method " + r.Method
	}
	for _, h := range r.Headers {
		text += fmt.Sprintf(", header %s: %s", h.Name, h.Value)
	}
	for _, q := range r.Query {
		text += fmt.Sprintf(", query %s=%s", q.Name, q.Value)
	}
	return text
}

// Backend is where requests are sent.
type Backend struct {
	// Service is the Service, and Port the number of its port, unless it is given by PortName.
	Service  types.NamespacedName
	Port     int32
	PortName string
	Weight   int32
	Filters  Filters
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

// before orders the rules for the same path: by method, by the numbers of headers and of parameters, then the oldest one, then by name.
func before(a, b *Rule) int {
	methods := cmp.Compare(min(len(b.Method), 1), min(len(a.Method), 1))
	return cmp.Or(methods, cmp.Compare(len(b.Headers), len(a.Headers)), cmp.Compare(len(b.Query), len(a.Query)),
		a.Created.Compare(b.Created), cmp.Compare(a.Object.String(), b.Object.String()), cmp.Compare(a.Index, b.Index))
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
	if found := first(p.exact[r.Path], r); found != nil {
		return found
	}
	for prefix := elements(r.Path); ; {
		if found := first(p.prefix[prefix], r); found != nil {
			return found
		}
		cut := strings.LastIndexByte(prefix, '/')
		if cut < 0 {
			return nil
		}
		prefix = prefix[:cut]
	}
}

func first(list []*Rule, r *Request) *Rule {
	for _, rule := range list {
		if rule.matches(r) {
			return rule
		}
	}
	return nil
}
