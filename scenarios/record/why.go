package record

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/spell"
)

// Why explains an object of the run. kind is as kubectl takes it: Pod, pods, po,
// deployments.apps. It is an error if the run has no write of the object.
func (r *Run) Why(kind, namespace, name string) (*minikcm.Explanation, error) {
	query, err := r.query(kind, namespace, name)
	if err != nil {
		return nil, err
	}
	return minikcm.Explain(r.Writes, r.Totals.ForgottenWrites, query)
}

// query finds the kind among those that were written in the run.
func (r *Run) query(kind, namespace, name string) (minikcm.Query, error) {
	wanted, group, grouped := strings.Cut(strings.ToLower(kind), ".")
	if short, ok := minikcm.OfShortName(wanted); ok {
		wanted, group, grouped = short.Resource, short.Group, true
	}
	kinds := map[string]bool{}
	for i := range r.Writes {
		w := &r.Writes[i]
		kinds[w.Resource.Resource] = true
		named := wanted == strings.ToLower(w.Kind) || wanted == w.Resource.Resource
		if !named || grouped && group != w.Resource.Group {
			continue
		}
		q := minikcm.Query{Group: w.Resource.Group, Resource: w.Resource.Resource, Name: name}
		if w.Namespace != "" {
			q.Namespace = namespace
		}
		return q, nil
	}
	written := slices.Sorted(maps.Keys(kinds))
	if meant := spell.Nearest(kind, written); meant != "" {
		return minikcm.Query{}, fmt.Errorf("no object of kind %q was written in this run; did you mean %s?", kind, meant)
	}
	return minikcm.Query{}, fmt.Errorf("no object of kind %q was written in this run, which has %s", kind, strings.Join(written, ", "))
}

// maxExplained bounds for how many objects of one failure the causes are told.
const maxExplained = 3

// explainFailures tells of what each failed check was about why it is as it is.
func (r *Run) explainFailures() {
	for i := range r.Failures {
		f := &r.Failures[i]
		for _, o := range f.Objects {
			if len(f.Causes) == maxExplained {
				break
			}
			query := minikcm.Query{Group: o.Group, Kind: o.Kind, Resource: o.Resource, Namespace: o.Namespace, Name: o.Name}
			explanation, err := minikcm.Explain(r.Writes, r.Totals.ForgottenWrites, query)
			if o.Name == "" || err != nil {
				continue // it never was there: nobody can say why
			}
			var text strings.Builder
			if explanation.Print(&text, r.Start) == nil {
				f.Causes = append(f.Causes, text.String())
			}
		}
	}
}
