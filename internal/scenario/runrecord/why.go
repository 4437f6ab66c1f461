package runrecord

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
	return r.explain(query, r.NotAsExpected)
}

// explain explains an object, with why it was not as expected, if that is in the list.
func (r *Run) explain(q minikcm.Query, why []Reasons) (*minikcm.Explanation, error) {
	explanation, err := minikcm.Explain(r.Writes, r.Totals.ForgottenWrites, q)
	if err != nil {
		return nil, err
	}
	explanation.Now = reasonsOf(why, &explanation.Object)
	explanation.Refuse(r.Refusals, q)
	return explanation, nil
}

// query finds the kind among the kinds that were written in the run.
func (r *Run) query(kind, namespace, name string) (minikcm.Query, error) {
	wanted, group, grouped := strings.Cut(strings.ToLower(kind), ".")
	if short, ok := minikcm.ResourceForShortName(wanted); ok {
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

// maxExplained caps the objects of one failure whose causes are kept.
const maxExplained = 3

// explainFailures adds to each failed check the causes of its objects. If several objects
// have the same reason, it adds only the causes of the first.
func (r *Run) explainFailures() {
	for i := range r.Failures {
		f := &r.Failures[i]
		seen := map[string]bool{}
		for _, o := range f.Objects {
			if len(f.Causes) == maxExplained {
				break
			}
			query := minikcm.Query{Group: o.Group, Kind: o.Kind, Resource: o.Resource, Namespace: o.Namespace, Name: o.Name}
			explanation, err := r.explain(query, f.Reasons)
			if o.Name == "" || err != nil {
				continue // the record does not have it
			}
			if now := explanation.Now; now != nil {
				sentence := now.Sentence("")
				if seen[sentence] {
					continue
				}
				seen[sentence] = true
				if len(now.Reasons) == 1 {
					explanation.Now = nil // the message has it
				}
			}
			var text strings.Builder
			if explanation.Print(&text, r.Start) == nil {
				f.Causes = append(f.Causes, text.String())
			}
		}
	}
}
