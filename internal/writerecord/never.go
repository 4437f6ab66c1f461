package writerecord

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"minikcm.dev/minikcm/internal/spell"
)

// NeverWrittenError reports that the record has no write of an object, with suggestions
// of similar ones.
type NeverWrittenError struct {
	Query Query
	// Absent reports that the object does not exist either.
	Absent bool
	// Since is the oldest revision in the record, Forgotten the number of writes that the
	// record has dropped.
	Since, Forgotten int64

	// Refused are the requests for the object that were refused.
	Refused []Refusal

	// near has the names of that kind in the same namespace, elsewhere the namespaces
	// with an object of that kind and name.
	near, elsewhere []string
	known           map[[2]string]bool
}

const (
	// maxSuggested caps the suggestions in an error, maxKnown the names that they are
	// chosen from.
	maxSuggested = 3
	maxKnown     = 20_000
)

// Refuse adds the refusals of requests for the object.
func (e *NeverWrittenError) Refuse(all []Refusal) {
	for i := range all {
		if len(e.Refused) < maxSuggested && all[i].regards(&e.Query, &Write{Kind: e.Query.Kind, Namespace: e.Query.Namespace, Name: e.Query.Name}) {
			e.Refused = append(e.Refused, all[i])
		}
	}
}

// Suggest adds an object of the kind as a possible suggestion.
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

// Error names the object and suggests others.
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
	for i := range e.Refused {
		fmt.Fprintf(&b, "; %s", e.Refused[i].Sentence())
		if message := e.Refused[i].Message; message != "" {
			fmt.Fprintf(&b, ": %s", message)
		}
	}
	if near := spell.NearestN(e.Query.Name, slices.Sorted(slices.Values(e.near)), maxSuggested); len(near) > 0 {
		kind := cmp.Or(e.Query.Resource, e.Query.Kind) + "/"
		fmt.Fprintf(&b, "; did you mean %s?", kind+strings.Join(near, " or "+kind))
	}
	if len(e.elsewhere) > 0 {
		namespaces := slices.Sorted(slices.Values(e.elsewhere))
		fmt.Fprintf(&b, "; namespace %s has one: -n %s", strings.Join(namespaces[:min(len(namespaces), maxSuggested)], ", "), namespaces[0])
	}
	return b.String()
}
