package routes

import (
	"iter"
	"net/netip"
	"strings"
)

// byHost holds values by the host that they are for: a name, a wildcard such as *.example.com, or any.
type byHost[T any] struct {
	exact map[string]T
	// wild has the wildcards without their asterisk.
	wild map[string]T
	any  map[string]T // at most one
}

// anyHost is the key of byHost.any.
const anyHost = ""

// at returns the map that has a host, and its key there.
func (b *byHost[T]) at(host string) (of *map[string]T, key string) {
	if suffix, ok := strings.CutPrefix(host, "*"); ok && strings.HasPrefix(suffix, ".") {
		return &b.wild, suffix
	}
	if host == "" {
		return &b.any, anyHost
	}
	return &b.exact, host
}

func (b *byHost[T]) get(host string) (T, bool) {
	of, key := b.at(host)
	v, ok := (*of)[key]
	return v, ok
}

func (b *byHost[T]) set(host string, v T) {
	of, key := b.at(host)
	if *of == nil {
		*of = map[string]T{}
	}
	(*of)[key] = v
}

func (b *byHost[T]) remove(host string) {
	of, key := b.at(host)
	delete(*of, key)
}

// matching returns the values for a host, the most specific ones first. deep means that a wildcard stands for any number of labels,
// and not for exactly one.
func (b *byHost[T]) matching(host string, deep bool) iter.Seq[T] {
	return func(yield func(T) bool) {
		if v, ok := b.exact[host]; ok && host != "" && !yield(v) {
			return
		}
		if !isAddress(host) {
			for suffix := range suffixes(host) {
				if v, ok := b.wild[suffix]; ok && !yield(v) {
					return
				}
				if !deep {
					break
				}
			}
		}
		if v, ok := b.any[anyHost]; ok {
			yield(v)
		}
	}
}

// suffixes returns what follows the first label of a name with its dot, then the second one, and so on.
func suffixes(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := 1; i < len(name); i++ { // the asterisk stands for one character at least
			if name[i] == '.' && !yield(name[i:]) {
				return
			}
		}
	}
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// HostOf returns the name or address in the Host header of a request, in lower case.
func HostOf(header string) string {
	host := header
	if rest, ok := strings.CutPrefix(host, "["); ok {
		host, _, _ = strings.Cut(rest, "]")
		return strings.ToLower(host)
	}
	if strings.Count(host, ":") == 1 {
		host, _, _ = strings.Cut(host, ":")
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
