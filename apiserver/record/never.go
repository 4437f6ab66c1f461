package record

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"minikcm.dev/minikcm/internal/spell"
)

// NeverWrittenError says that the record has no write of an object, and which ones may
// have been meant.
type NeverWrittenError struct {
	Query Query
	// Absent says that there is no such object, either.
	Absent bool
	// Since is the oldest revision of the record, and Forgotten how many writes it no
	// longer has.
	Since, Forgotten int64

	// near are names of that kind in the same namespace, elsewhere the namespaces with an
	// object of that kind and name.
	near, elsewhere []string
	known           map[[2]string]bool
}

const (
	// maxSuggested bounds the suggestions of an error, and maxKnown among how many names
	// they are.
	maxSuggested = 3
	maxKnown     = 20_000
)

// Suggest adds an object of the kind as one that may have been meant.
func (e *NeverWrittenError) Suggest(namespace, name string) {
	key := [2]string{namespace, name}
	if e.known[key] || len(e.known) == maxKnown {
		return
	}
	if e.known == nil {
		e.known = map[[2]string]bool{}
	}
	e.known[key] = true
	switch {
	case namespace == e.Query.Namespace && name != e.Query.Name:
		e.near = append(e.near, name)
	case namespace != e.Query.Namespace && name == e.Query.Name:
		e.elsewhere = append(e.elsewhere, namespace)
	}
}

// Error says what is known, and what to ask for instead.
func (e *NeverWrittenError) Error() string {
	object := cmp.Or(e.Query.Resource, e.Query.Kind) + "/" + e.Query.Name
	if e.Query.Namespace != "" {
		object += " in namespace " + e.Query.Namespace
	}
	var b strings.Builder
	if e.Absent {
		fmt.Fprintf(&b, "%s does not exist, and ", object)
		object = "it"
	}
	fmt.Fprintf(&b, "no write of %s is recorded since revision %d", object, e.Since)
	if e.Forgotten > 0 {
		fmt.Fprintf(&b, " (%d older writes are forgotten)", e.Forgotten)
	}
	if near := spell.NearestN(e.Query.Name, slices.Sorted(slices.Values(e.near)), maxSuggested); len(near) > 0 {
		fmt.Fprintf(&b, "; did you mean %s?", strings.Join(near, " or "))
	}
	if len(e.elsewhere) > 0 {
		namespaces := slices.Sorted(slices.Values(e.elsewhere))
		fmt.Fprintf(&b, "; namespace %s has one: -n %s", strings.Join(namespaces[:min(len(namespaces), maxSuggested)], ", "), namespaces[0])
	}
	return b.String()
}
